package study

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/loadstone-perf/loadstone/internal/unit"
)

// known is what a build with one workload, one engine and two providers
// offers.
func known() Known {
	return Known{
		Workloads: []Offer{{
			Name: "dvdstore", About: "a web shop",
			Params: []unit.Param{
				{Name: "size", Kind: unit.SizeName, Default: "small", Min: "100kB", Max: "1TB", Allowed: []string{"small", "medium", "large"}, About: "Size of the database."},
				{Name: "mode", Default: "strict", Allowed: []string{"strict", "compat"}, About: "How the workload's description is read."},
				{Name: "think_time", Kind: unit.Time, Default: "0s", Max: "1h", About: "Mean pause of a user after an order."},
				{Name: "pct_newcustomers", Kind: unit.Share, Default: "20%", Min: "0%", Max: "100%", About: "Orders by customers who register first."},
				{Name: "n_searches", Kind: unit.Int, Default: "3", Min: "1", Max: "100", About: "Searches before an order, on average."},
				{Name: "search_batch_size", Kind: unit.Int, Default: "5", Min: "1", Max: "100", About: "Films that a search asks for, on average."},
				{Name: "n_line_items", Kind: unit.Int, Default: "5", Min: "1", Max: "10", About: "Lines of an order, on average."},
			},
			Size:  "size",
			Types: []string{"login", "newcustomer", "browse", "purchase", "order"},
			Check: func(v unit.Values) error {
				if v.Text("mode") == "compat" && v.Percent("pct_newcustomers") == 0 {
					return errors.New("compat always has new customers: pct_newcustomers can't be 0%")
				}
				return nil
			},
		}},
		Engines: []Offer{{Name: "postgres", About: "PostgreSQL", Params: []unit.Param{{Name: "fetch", Kind: unit.Bool, Default: "true", About: "Fetch a server where there is none."}},
			Endpoint: func(url string) error {
				if !strings.HasPrefix(url, "postgres://") {
					return errors.New("it does not begin with postgres://")
				}
				return nil
			}}},
		Providers: []Offer{
			{Name: "native", About: "a process on this machine", Events: []string{EventSet}},
			{Name: "vm", About: "a virtual machine", WholeCPUs: true, Events: []string{EventSet, EventMigrate, EventMoveStorage}},
			{Name: "container", About: "a container", Params: []unit.Param{{Name: "image", Default: "", About: "Image to start from."}}},
		},
		Settings: func(engine, name, value string) error {
			if name == "port" {
				return fmt.Errorf("%s: Loadstone chooses the port", engine)
			}
			return nil
		},
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
