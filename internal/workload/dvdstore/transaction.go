package dvdstore

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// maxLines is how many lines PURCHASE takes at most.
const maxLines = 10

// statements are what users send, each prepared once.
type statements struct {
	newCustomer, login           *workload.Statement
	byCategory, byActor, byTitle *workload.Statement
	priceLookup, purchase        *workload.Statement
}

func (s *statements) all() []*workload.Statement {
	return []*workload.Statement{
		s.newCustomer, s.login, s.byCategory, s.byActor, s.byTitle, s.priceLookup, s.purchase,
	}
}

func newStatements() statements {
	call := func(name string, params ...string) *workload.Statement {
		return &workload.Statement{Name: name, Call: name, Params: params}
	}
	lookup := &workload.Statement{Name: "price_lookup", Text: "SELECT prod_id, price FROM products WHERE prod_id IN ("}
	purchase := call("purchase", "customerid", "number_items", "netamount", "taxamount", "totalamount")
	for i := range maxLines {
		p := fmt.Sprintf("prod_id%d", i)
		purchase.Params = append(purchase.Params, p, fmt.Sprintf("qty%d", i))
		lookup.Params = append(lookup.Params, p)
		if i > 0 {
			lookup.Text += ", "
		}
		lookup.Text += ":" + p
	}
	lookup.Text += ")"
	s := statements{
		newCustomer: call("new_customer", "firstname", "lastname", "address1", "address2", "city", "state", "zip",
			"country", "region", "email", "phone", "creditcardtype", "creditcard", "creditcardexpiration",
			"username", "password", "age", "income", "gender"),
		login:       call("login", "username", "password"),
		byCategory:  call("browse_by_category", "batch_size", "category"),
		byActor:     call("browse_by_actor", "batch_size", "actor"),
		byTitle:     call("browse_by_title", "batch_size", "title"),
		priceLookup: lookup,
		purchase:    purchase,
	}
	for i, st := range s.all() {
		st.Index = i
	}
	return s
}

// transactions are the types of work in one order.
type transactions struct{ enter, register, browse, price, buy *workload.Transaction }

func (t *transactions) all() []*workload.Transaction {
	return []*workload.Transaction{t.enter, t.register, t.browse, t.price, t.buy}
}

// newTransactions states their shares: an order is one log-in or
// registration, `searches` browses on average, a price look-up and a purchase.
func (s *store) newTransactions(searches float64) transactions {
	one := 100 / (3 + searches)
	// Orders have different numbers of searches, so that a run of a few
	// hundred orders strays by a point or two.
	const tolerance = 3
	t := transactions{
		enter: &workload.Transaction{
			Name: "login", About: "find the customer by name and password, and what was bought before",
			Exec: s.execLogin, Share: one * (1 - s.newCustomers), ShareTolerance: tolerance,
		},
		register: &workload.Transaction{
			Name: "newcustomer", About: "register a customer; rolled back where the user name is taken",
			Exec: s.execNewCustomer, Share: one * s.newCustomers, ShareTolerance: tolerance,
		},
		browse: &workload.Transaction{
			Name: "browse", About: "search films by category, actor or title",
			Exec: s.execBrowse, Share: one * searches, ShareTolerance: tolerance,
		},
		price: &workload.Transaction{
			Name: "pricelookup", About: "read the prices of what is in the cart",
			Exec: s.execPriceLookup, Share: one, ShareTolerance: tolerance,
		},
		buy: &workload.Transaction{
			Name: "purchase", About: "order the cart; rolled back where the stock is too low",
			Exec: s.execPurchase, Share: one, ShareTolerance: tolerance,
		},
	}
	for i, tx := range t.all() {
		tx.Index = i
	}
	return t
}

// cart is the order that a user is working on: the input of every transaction
// and where they leave what they found. One is made for each user and reused.
type cart struct {
	customer int64
	// person holds the arguments of NEW_CUSTOMER, userName and password of
	// LOGIN; their bytes lie in text.
	person             [19]workload.Value
	userName, password workload.Value
	text               [personText]byte

	search *workload.Statement
	terms  [2]workload.Value // how many, what
	term   [64]byte

	lines             int // in use
	product, quantity [maxLines]int64
	net               int64 // in cents

	args  [5 + 2*maxLines]workload.Value
	found int // rows that the last browse or log-in returned
	order int64
}

// execLogin finds the customer; a user who does not exist is an error, as the
// script logs in nobody but loaded customers.
func (s *store) execLogin(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
	o := in.(*cart)
	o.args[0], o.args[1] = o.userName, o.password
	r, err := c.Run(ctx, s.login, o.args[:2])
	if err != nil {
		return workload.Failed, err
	}
	o.customer, o.found = 0, r.Rows()
	if r.Rows() > 0 {
		o.customer = r.Values[0].Int
	}
	if o.customer == 0 {
		return workload.Failed, fmt.Errorf("login: no customer has user name %q and that password", o.userName.Str)
	}
	return workload.Committed, nil
}

func (s *store) execNewCustomer(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
	o := in.(*cart)
	r, err := c.Run(ctx, s.newCustomer, o.person[:])
	if err != nil {
		return workload.Failed, err
	}
	if o.customer, err = single(r, s.newCustomer); err != nil {
		return workload.Failed, err
	}
	if o.customer == 0 {
		return workload.RolledBack, nil
	}
	return workload.Committed, nil
}

func (s *store) execBrowse(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
	o := in.(*cart)
	r, err := c.Run(ctx, o.search, o.terms[:])
	if err != nil {
		return workload.Failed, err
	}
	o.found = r.Rows()
	return workload.Committed, nil
}

// execPriceLookup adds up the cart. The statement always has ten products, so
// that it is prepared once: unused places repeat the first.
func (s *store) execPriceLookup(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
	o := in.(*cart)
	for i := range maxLines {
		o.args[i] = workload.Int(o.product[0])
		if i < o.lines {
			o.args[i].Int = o.product[i]
		}
	}
	r, err := c.Run(ctx, s.priceLookup, o.args[:maxLines])
	if err != nil {
		return workload.Failed, err
	}
	o.net = 0
	priced := 0
	for i := range r.Rows() {
		row := r.Row(i)
		for l := range o.lines {
			if o.product[l] != row[0].Int {
				continue
			}
			if priced++; row[1].Kind != workload.Fixed {
				return workload.Failed, fmt.Errorf("price_lookup: product %d has no price", row[0].Int)
			}
			o.net += o.quantity[l] * row[1].Int
			if s.compat { // the kit prices the first line of a product only
				break
			}
		}
	}
	if priced == 0 || !s.compat && priced != o.lines {
		return workload.Failed, fmt.Errorf("price_lookup: %d of %d lines found a price", priced, o.lines)
	}
	return workload.Committed, nil
}

func (s *store) execPurchase(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
	o := in.(*cart)
	tax := taxOf(o.net)
	a := &o.args
	a[0], a[1] = workload.Int(o.customer), workload.Int(int64(o.lines))
	a[2], a[3], a[4] = workload.Money(o.net), workload.Money(tax), workload.Money(o.net+tax)
	for i := range maxLines {
		a[5+2*i], a[6+2*i] = workload.Int(0), workload.Int(0)
		if i < o.lines {
			a[5+2*i].Int, a[6+2*i].Int = o.product[i], o.quantity[i]
		}
	}
	r, err := c.Run(ctx, s.purchase, a[:])
	if err != nil {
		return workload.Failed, err
	}
	if o.order, err = single(r, s.purchase); err != nil {
		return workload.Failed, err
	}
	if o.order == 0 {
		return workload.RolledBack, nil
	}
	return workload.Committed, nil
}

// single is the one number that st returned.
func single(r workload.Result, st *workload.Statement) (int64, error) {
	if len(r.Values) != 1 || r.Values[0].Kind != workload.Integer {
		return 0, fmt.Errorf("%s: want one number, got %d rows of %d values", st.Name, r.Rows(), r.Columns)
	}
	return r.Values[0].Int, nil
}
