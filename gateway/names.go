package gateway

import (
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/sallyport-sh/sallyport"
)

// Two short common words: easy to say, to type, and for a model to copy without a slip.
var (
	adjectives = strings.Fields(`amber ample azure bold brave breezy bright brisk calm candid cheery civil clean clear clever
		cool coral cosmic crisp deft eager early earnest easy fair fancy fast fleet fond fresh gentle glad golden good grand
		green hardy hasty honest humble ivory jade jolly keen kind large late light lively loyal lucid lucky lunar major
		mellow merry mild misty modest neat nimble noble novel olive open pale patient plain polar prime proud quick quiet
		rapid ready regal rosy royal ruby sage sandy serene sharp shiny silent silver sleek slow smart smooth snowy solar
		solid spry stable steady still stout sunny sure swift tall tame tidy true vivid warm wise witty young zesty`)
	nouns = strings.Fields(`acorn alder anchor apple arbor arrow aspen atlas badger bay beacon beech birch bison brook canyon
		cedar cliff cloud clover comet coral cove crane creek crest daisy dale delta dune eagle ember falcon fern field finch
		fjord forest fox gale garden glade glen grove harbor hare hawk hazel heron hill ibis inlet iris island ivy jay juniper
		kelp kite lagoon lake larch lark leaf lily lotus lynx maple marsh meadow mesa moon moss moth oak ocean orchid otter
		owl palm peak pebble pine plover pond poplar prairie puma quail quartz raven reef ridge river robin rowan sable shore
		sparrow spruce star stone stork stream summit swan teal thrush tide trail tulip valley vale violet walnut wave willow
		wren yarrow`)
)

// A namer makes session names. It is not safe for concurrent use.
type namer struct{ recent map[sallyport.SessionID]bool }

// maxRecent is how many names are not used again, so that an id in a model's context does not come to mean another
// session.
const maxRecent = 4096

// next returns a fresh name for which taken is false.
func (n *namer) next(taken func(sallyport.SessionID) bool) sallyport.SessionID {
	if n.recent == nil || len(n.recent) >= maxRecent {
		n.recent = map[sallyport.SessionID]bool{}
	}
	for try := 0; ; try++ {
		name := adjectives[rand.IntN(len(adjectives))] + "-" + nouns[rand.IntN(len(nouns))]
		if try > 8 {
			name += "-" + strconv.Itoa(rand.IntN(9999)+2)
		}
		if id := sallyport.SessionID(name); !n.recent[id] && !taken(id) {
			n.recent[id] = true
			return id
		}
	}
}
