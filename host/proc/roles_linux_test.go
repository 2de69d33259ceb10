package proc

func bomb(order) (any, error)  { return nil, nil }
func live(order) (any, error)  { return nil, nil }
func forge(order) (any, error) { return nil, nil }
