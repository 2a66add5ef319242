package dvdstore

import (
	"context"
	"fmt"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// maxLines is how many lines PURCHASE takes at most.
const maxLines = 10

// statements are what users send, each prepared once: some in both ways to
// make an order, and those of the one way that the definition has.
type statements struct {
	byCategory, byActor, byTitle, priceLookup *workload.Statement
	calls                                     *calls // nil unless procedures are called
	texts                                     *texts // nil where they are
}

// calls execute an order by procedures.
type calls struct{ newCustomer, login, purchase *workload.Statement }

func (s *statements) all() []*workload.Statement {
	list := []*workload.Statement{s.byCategory, s.byActor, s.byTitle, s.priceLookup}
	if s.calls != nil {
		list = []*workload.Statement{
			s.calls.newCustomer, s.calls.login, s.byCategory, s.byActor, s.byTitle, s.priceLookup, s.calls.purchase,
		}
	} else {
		list = append(list, s.texts.all()...)
	}
	for i, st := range list {
		st.Index = i
	}
	return list
}

// call makes a call of the procedure called name.
func call(name string, params ...string) *workload.Statement {
	return &workload.Statement{Name: name, Call: name, Params: params}
}

func newStatements(procedures bool) statements {
	lookup := &workload.Statement{Name: "price_lookup", Text: "SELECT prod_id, price FROM products WHERE prod_id IN ("}
	for i := range maxLines {
		p := fmt.Sprintf("prod_id%d", i)
		lookup.Params = append(lookup.Params, p)
		if i > 0 {
			lookup.Text += ", "
		}
		lookup.Text += ":" + p
	}
	lookup.Text += ")"
	s := statements{priceLookup: lookup}
	if procedures {
		s.calls = newCalls()
		s.byCategory = call("browse_by_category", "batch_size", "category")
		s.byActor = call("browse_by_actor", "batch_size", "actor")
		s.byTitle = call("browse_by_title", "batch_size", "title")
	} else {
		s.texts = newTexts()
		s.byCategory, s.byActor, s.byTitle = searchTexts()
	}
	s.all()
	return s
}

// personParams are the parameters of a registration.
func personParams() []string {
	return []string{
		"firstname", "lastname", "address1", "address2", "city", "state", "zip",
		"country", "region", "email", "phone", "creditcardtype", "creditcard", "creditcardexpiration",
		"username", "password", "age", "income", "gender",
	}
}

func newCalls() *calls {
	purchase := call("purchase", "customerid", "number_items", "netamount", "taxamount", "totalamount")
	for i := range maxLines {
		purchase.Params = append(purchase.Params, fmt.Sprintf("prod_id%d", i), fmt.Sprintf("qty%d", i))
	}
	return &calls{
		newCustomer: call("new_customer", personParams()...),
		login:       call("login", "username", "password"),
		purchase:    purchase,
	}
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
	run := s.executors()
	t := transactions{
		enter: &workload.Transaction{
			Name: "login", About: "find the customer by name and password, and what was bought before",
			Exec: run.login, Share: one * (1 - s.newCustomers), ShareTolerance: tolerance,
		},
		register: &workload.Transaction{
			Name: "newcustomer", About: "register a customer; rolled back where the user name is taken",
			Exec: run.register, Share: one * s.newCustomers, ShareTolerance: tolerance,
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
			Exec: run.purchase, Share: one, ShareTolerance: tolerance,
		},
	}
	t.enter.ReadOnly, t.browse.ReadOnly, t.price.ReadOnly = true, true, true
	for i, tx := range t.all() {
		tx.Index = i
	}
	return t
}

// executor runs a transaction of an order.
type executor = func(context.Context, workload.Conn, any) (workload.Status, error)

// executors are those that differ between procedures and statements.
type executors struct{ login, register, purchase executor }

func (s *store) executors() executors {
	of := func(f func(context.Context, workload.Conn, *cart) (workload.Status, error)) executor {
		return func(ctx context.Context, c workload.Conn, in any) (workload.Status, error) {
			return f(ctx, c, in.(*cart))
		}
	}
	if s.calls != nil {
		return executors{of(s.callLogin), of(s.callNewCustomer), of(s.callPurchase)}
	}
	return executors{of(s.texts.login), of(s.texts.newCustomer), of(s.texts.purchase)}
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
	asked             []ask // of askBuf: the lines by product
	askBuf            [maxLines]ask

	args  [5 + 2*maxLines]workload.Value
	found int // rows that the last browse or log-in returned
	order int64
}

// errLogin says that nobody has the name and password in o.
func errLogin(o *cart) error {
	return fmt.Errorf("login: no customer has user name %q and that password", o.userName.Str)
}

// callLogin finds the customer; a user who does not exist is an error, as the
// script logs in nobody but loaded customers.
func (s *store) callLogin(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
	o.args[0], o.args[1] = o.userName, o.password
	r, err := c.Run(ctx, s.calls.login, o.args[:2])
	if err != nil {
		return workload.Failed, err
	}
	o.customer, o.found = 0, r.Rows()
	if r.Rows() > 0 {
		o.customer = r.Values[0].Int
	}
	if o.customer == 0 {
		return workload.Failed, errLogin(o)
	}
	return workload.Committed, nil
}

func (s *store) callNewCustomer(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
	r, err := c.Run(ctx, s.calls.newCustomer, o.person[:])
	if err != nil {
		return workload.Failed, err
	}
	if o.customer, err = single(r, s.calls.newCustomer); err != nil {
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

func (s *store) callPurchase(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
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
	r, err := c.Run(ctx, s.calls.purchase, a[:])
	if err != nil {
		return workload.Failed, err
	}
	if o.order, err = single(r, s.calls.purchase); err != nil {
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
