package dvdstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/loadstone-perf/loadstone/internal/workload"
)

// texts execute an order statement by statement, in SQL that every engine
// takes, with the results and the rows of the strict procedures.
//
// A purchase is one transaction. It locks its rows of inventory in the order of
// prod_id before it writes anything, as the procedure does; an engine without
// locks of rows has one lock for all writers from the begin on. What the
// procedure leaves to a trigger, filling the stock up, the purchase does.
type texts struct {
	customer, history              *workload.Statement // log in
	taken, insertCustomer          *workload.Statement // register
	stock, takeStock, reorder      *workload.Statement // purchase
	insertOrder, addLine, remember *workload.Statement
	lastID                         *workload.Statement // of a customer or an order
}

func newTexts() *texts {
	text := func(name, sql string, params ...string) *workload.Statement {
		return &workload.Statement{Name: name, Text: sql, Params: params}
	}
	t := &texts{}
	t.customer = text("login", "SELECT customerid FROM customers WHERE username = :username AND password = :password",
		"username", "password")
	t.history = text("history", `SELECT bought.title, bought.actor, related.title AS related
FROM (SELECT orderid, prod_id FROM cust_hist WHERE customerid = :customerid ORDER BY orderid DESC, prod_id {limit 10}) recent
JOIN products bought ON bought.prod_id = recent.prod_id
JOIN products related ON related.prod_id = bought.common_prod_id
ORDER BY recent.orderid DESC, recent.prod_id`, "customerid")

	t.taken = text("user name taken", "SELECT customerid FROM customers WHERE username = :username", "username")
	t.insertCustomer = text("new customer", `INSERT INTO customers (firstname, lastname, address1, address2, city, state, zip,
country, region, email, phone, creditcardtype, creditcard, creditcardexpiration, username, password, age, income, gender)
VALUES (:firstname, :lastname, :address1, :address2, :city, :state, :zip, :country, :region, :email, :phone,
:creditcardtype, :creditcard, :creditcardexpiration, :username, :password, :age, :income, :gender)`, personParams()...)

	t.stock = text("stock", "SELECT quan_in_stock FROM inventory WHERE prod_id = :prod_id {lock update}", "prod_id")
	t.takeStock = text("take stock", "UPDATE inventory SET quan_in_stock = :left, sales = sales + :quantity WHERE prod_id = :prod_id",
		"left", "quantity", "prod_id")
	t.reorder = text("reorder", `INSERT INTO reorder (prod_id, date_low, quan_low, date_reordered, quan_reordered, date_expected)
VALUES (:prod_id, {today}, :left, {today}, :missing, {today})`, "prod_id", "left", "missing")
	t.insertOrder = text("new order", `INSERT INTO orders (orderdate, customerid, netamount, tax, totalamount)
VALUES ({today}, :customerid, :netamount, :taxamount, :totalamount)`, "customerid", "netamount", "taxamount", "totalamount")
	t.addLine = text("new line", `INSERT INTO orderlines (orderlineid, orderid, prod_id, quantity, orderdate)
VALUES (:number, :orderid, :prod_id, :quantity, {today})`, "number", "orderid", "prod_id", "quantity")
	t.remember = text("remember", "INSERT INTO cust_hist (customerid, orderid, prod_id) VALUES (:customerid, :orderid, :prod_id)",
		"customerid", "orderid", "prod_id")
	t.lastID = text("last number", "SELECT {last id}")
	return t
}

func (t *texts) all() []*workload.Statement {
	return []*workload.Statement{
		t.customer, t.history, t.taken, t.insertCustomer,
		t.stock, t.takeStock, t.reorder, t.insertOrder, t.addLine, t.remember, t.lastID,
	}
}

// searchTexts are the searches as statements. Adding nothing to the number by
// which they sort keeps planners from walking all products in its order until
// enough of them match, as OFFSET 0 does in the procedures.
func searchTexts() (byCategory, byActor, byTitle *workload.Statement) {
	search := func(name, param, where string) *workload.Statement {
		return &workload.Statement{
			Name: name, Params: []string{"batch_size", param},
			Text: `SELECT prod_id, category, title, actor, price, special, common_prod_id FROM products
WHERE ` + where + ` ORDER BY prod_id + 0 {limit :batch_size}`,
		}
	}
	return search("browse_by_category", "category", "category = :category AND special = 1"),
		search("browse_by_actor", "actor", "{match products.actor :actor}"),
		search("browse_by_title", "title", "{match products.title :title}")
}

// login finds the customer, and then what was bought: nothing changes a
// customer, so that the two need no transaction around them.
func (t *texts) login(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
	o.args[0], o.args[1] = o.userName, o.password
	r, err := c.Run(ctx, t.customer, o.args[:2])
	if err != nil {
		return workload.Failed, err
	}
	o.customer, o.found = 0, 0
	if r.Rows() == 0 {
		return workload.Failed, errLogin(o)
	}
	o.customer = r.Values[0].Int
	o.args[0] = workload.Int(o.customer)
	if r, err = c.Run(ctx, t.history, o.args[:1]); err != nil {
		return workload.Failed, err
	}
	o.found = max(1, r.Rows()) // the procedure returns the customer alone where nothing was bought
	return workload.Committed, nil
}

// newCustomer registers, or finds the user name taken. Two sessions that
// register one name at once are told apart by the unique index, which fails one
// of them; users of one run never do.
func (t *texts) newCustomer(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
	const userName = 14 // its place among the arguments
	return inside(ctx, c, func() (workload.Status, error) {
		r, err := c.Run(ctx, t.taken, o.person[userName:userName+1])
		if err != nil {
			return workload.Failed, err
		}
		if o.customer = 0; r.Rows() > 0 {
			return workload.RolledBack, nil
		}
		if err := change(ctx, c, t.insertCustomer, o.person[:]); err != nil {
			return workload.Failed, err
		}
		o.customer, err = number(ctx, c, t.lastID)
		return workload.Committed, err
	})
}

// purchase orders the cart.
func (t *texts) purchase(ctx context.Context, c workload.Conn, o *cart) (workload.Status, error) {
	o.order = 0
	o.addUp()
	return inside(ctx, c, func() (workload.Status, error) {
		for i := range o.asked {
			status, err := t.lock(ctx, c, o, &o.asked[i])
			if err != nil || status != workload.Committed {
				return status, err
			}
		}
		for i := range o.asked {
			if err := t.take(ctx, c, o, &o.asked[i]); err != nil {
				return workload.Failed, err
			}
		}
		if err := t.enter(ctx, c, o); err != nil {
			return workload.Failed, err
		}
		return workload.Committed, nil
	})
}

// ask is what all lines of a cart together ask for of a product.
type ask struct{ product, quantity, stock int64 }

// addUp sets o.asked, in the order of the products.
func (o *cart) addUp() {
	o.asked = o.askBuf[:0]
	for i := range o.lines {
		at := slices.IndexFunc(o.asked, func(a ask) bool { return a.product == o.product[i] })
		if at < 0 {
			at = len(o.asked)
			o.asked = append(o.asked, ask{product: o.product[i]})
		}
		o.asked[at].quantity += o.quantity[i]
	}
	slices.SortFunc(o.asked, func(a, b ask) int { return cmp.Compare(a.product, b.product) })
}

// lock locks a product's row of inventory and looks whether there is enough.
func (t *texts) lock(ctx context.Context, c workload.Conn, o *cart, a *ask) (workload.Status, error) {
	o.args[0] = workload.Int(a.product)
	r, err := c.Run(ctx, t.stock, o.args[:1])
	if err != nil {
		return workload.Failed, err
	}
	if r.Rows() == 0 || r.Values[0].Int < a.quantity {
		return workload.RolledBack, nil
	}
	a.stock = r.Values[0].Int
	return workload.Committed, nil
}

// The stock to which a product is filled up when a purchase leaves fewer than
// lowStock: that of the popular ones is larger.
const (
	lowStock     = 3
	fullStock    = 250
	popularStock = 2500
)

// take takes what is asked for out of the stock, and fills it up where little
// is left.
func (t *texts) take(ctx context.Context, c workload.Conn, o *cart, a *ask) error {
	left := a.stock - a.quantity
	if left < lowStock {
		full := int64(fullStock)
		if a.product%popularEach == 0 {
			full = popularStock
		}
		o.args[0], o.args[1], o.args[2] = workload.Int(a.product), workload.Int(left), workload.Int(full-left)
		if err := change(ctx, c, t.reorder, o.args[:3]); err != nil {
			return err
		}
		left = full
	}
	o.args[0], o.args[1], o.args[2] = workload.Int(left), workload.Int(a.quantity), workload.Int(a.product)
	return change(ctx, c, t.takeStock, o.args[:3])
}

// enter writes the order, its lines, and what the customer bought.
func (t *texts) enter(ctx context.Context, c workload.Conn, o *cart) (err error) {
	tax := taxOf(o.net)
	a := &o.args
	a[0], a[1], a[2], a[3] = workload.Int(o.customer), workload.Money(o.net), workload.Money(tax), workload.Money(o.net+tax)
	if err := change(ctx, c, t.insertOrder, a[:4]); err != nil {
		return err
	}
	if o.order, err = number(ctx, c, t.lastID); err != nil {
		return err
	}
	for i := range o.lines {
		a[0], a[1] = workload.Int(int64(i+1)), workload.Int(o.order)
		a[2], a[3] = workload.Int(o.product[i]), workload.Int(o.quantity[i])
		if err := change(ctx, c, t.addLine, a[:4]); err != nil {
			return err
		}
	}
	for i := range o.lines {
		a[0], a[1], a[2] = workload.Int(o.customer), workload.Int(o.order), workload.Int(o.product[i])
		if err := change(ctx, c, t.remember, a[:3]); err != nil {
			return err
		}
	}
	return nil
}

// inside runs f in a transaction: committed where f says so, else rolled back.
func inside(ctx context.Context, c workload.Conn, f func() (workload.Status, error)) (workload.Status, error) {
	if err := c.Tx(ctx, workload.Begin); err != nil {
		return workload.Failed, err
	}
	status, err := f()
	if err == nil && status == workload.Committed {
		return status, c.Tx(ctx, workload.Commit)
	}
	// What f failed with tells more than what rolling back does.
	if undone := c.Tx(ctx, workload.Rollback); err == nil {
		err = undone
	}
	return status, err
}

// change runs st with args, which must change one row.
func change(ctx context.Context, c workload.Conn, st *workload.Statement, args []workload.Value) error {
	r, err := c.Run(ctx, st, args)
	if err == nil && r.Affected != 1 {
		err = fmt.Errorf("%s: %d rows changed, want 1", st.Name, r.Affected)
	}
	return err
}

// number runs st, which returns one number.
func number(ctx context.Context, c workload.Conn, st *workload.Statement) (int64, error) {
	r, err := c.Run(ctx, st, nil)
	if err != nil {
		return 0, err
	}
	return single(r, st)
}
