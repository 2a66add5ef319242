package brokerage

import (
	"strings"

	"github.com/loadstone-perf/loadstone/internal/rng"
)

// words are the lists that names and texts are made of; all of them are of
// our own making.
type words struct {
	first, last, street, kind, town, firm, trade, prose []string
}

func newWords() *words {
	return &words{
		first: strings.Fields("Adela Anselm Berta Bodo Carla Corin Dagny Darian Edda Emric Fenja Florin Gesa Gero Hilka Hanno " +
			"Ilka Ivar Janna Jorin Kaja Kilian Lovis Lasse Mara Marek Nela Nils Oda Orell Petra Piet Quirin Ronja Rurik " +
			"Selma Sander Thea Tjark Ulla Ulric Vanja Veit Wenke Wido Ximena Yorick Ylvi Zora Zeno"),
		last: strings.Fields("Ahlfeld Amsel Backhaus Birkner Brandow Carstens Dachs Dorn Ebers Eschenbach Falk Fichtner Gabler " +
			"Grothe Haberl Heidorn Illig Imhoff Jansch Jordan Kessel Kranich Lachner Lorenz Mahler Moorkamp Nagel Nieland " +
			"Ohlsen Ostertag Pabst Pohl Quandt Quast Rabe Reimers Sattler Sommerfeld Tanner Thielen Ude Ulmer Vogt Voss " +
			"Wacker Wiechert Yelin Zander Ziegler Zorn Alder Bohm Clausen Dietz Engel Fuhr Geest Horn Krug Lenz"),
		street: strings.Fields("Alder Birch Cedar Clover Dune Elm Fern Gravel Harbour Heron Iris Juniper Kestrel Lark Linden " +
			"Maple Meadow Mill Nettle Oak Orchard Pebble Pine Quarry Raven Reed Rowan Sorrel Thistle Willow"),
		kind:  strings.Fields("Street Lane Road Avenue Way Court Rise Row"),
		town:  strings.Fields("Ash Bell Corn Dun East Fair Glen Hazel Iron Kings Long Marsh North Otter Port Ridge Stone Thorn Under West"),
		firm:  strings.Fields("Aurel Basalt Cobalt Delvin Ember Fjord Gantry Hollin Indra Jasper Kelda Lumen Merid Norden Onyx Pallas Quill Rhea Sable Tarn Umbra Velor Wexel Yarrow Zephyr"),
		trade: strings.Fields("Works Supply Group Systems Partners Holdings Labs Lines Foods Power Mills Metals Glass Freight Care Tools"),
		prose: strings.Fields("the a board plant order market result quarter output price demand region line new steady lower higher " +
			"after before under with without said plans expects opens closes sells builds ships tests grows slows holds " +
			"contract supplier customer harvest turbine ledger audit permit cable vessel paper timber copper grain wool"),
	}
}

// pick draws one of list.
func pick(s *rng.Stream, list []string) string { return list[s.IntN(int64(len(list)))] }

// sectorNames are the twelve sectors, and activities what their industries do.
func sectorNames() [sectors]string {
	return [sectors]string{
		"Farming", "Timber", "Mining", "Energy", "Chemistry", "Machinery",
		"Vehicles", "Textiles", "Building", "Banking", "Computing", "Medicine",
	}
}

func activities() [9]string {
	return [9]string{"Supply", "Growth", "Transport", "Retail", "Services", "Equipment", "Research", "Insurance", "Wholesale"}
}

// appendProse appends blank-separated words until n bytes are there.
func (w *words) appendProse(b []byte, s *rng.Stream, n int) []byte {
	end := len(b) + n
	// Sixteen bits of one draw choose each word: texts are long.
	for draws, left := uint64(0), 0; len(b) < end; left-- {
		if left == 0 {
			draws, left = s.Uint64(), 4
		}
		b = append(append(b, w.prose[draws&0xffff*uint64(len(w.prose))>>16]...), ' ')
		draws >>= 16
	}
	b = b[:end]
	if n > 0 {
		b[end-1] = '.' // no text ends in a blank
	}
	return b
}
