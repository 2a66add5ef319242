package wire

import (
	"context"
	"errors"
)

// InFile is a LOAD DATA LOCAL INFILE whose file is what the caller writes.
type InFile struct{ conn *Conn }

// FileRoom is how many bytes a buffer given to Write has unused at its front.
const FileRoom = 4

// LoadData begins sql, a LOAD DATA LOCAL INFILE; the name of its file means
// nothing. The connection is busy until Finish or Abort.
func (c *Conn) LoadData(ctx context.Context, sql string) (*InFile, error) {
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	f, err := c.loadData(sql)
	if err != nil {
		c.leave()
		return nil, err
	}
	return f, nil
}

func (c *Conn) loadData(sql string) (*InFile, error) {
	var err error
	if c.out, err = closePacket(append(append(openPacket(c.out, 0), comQuery), sql...), 0); err != nil {
		return nil, err
	}
	c.link.Send(c.out)
	msg, err := c.in.next()
	switch {
	case err != nil:
		return nil, c.fail(err)
	case msg[0] == 0xff:
		return nil, c.refused(msg)
	case msg[0] != 0xfb:
		return nil, c.fail(&malformed{"it does not ask for the file"})
	}
	return &InFile{c}, nil
}

// Write sends buf[FileRoom:], which must not be empty. Where the server has
// refused the file already, that shows only in Finish: it reads on to the end.
func (f *InFile) Write(buf []byte) error {
	c := f.conn
	if c.calls.Closed() {
		return c.fail(errors.New("the connection was closed"))
	}
	c.in.seq++
	buf[3] = c.in.seq
	if _, err := closePacket(buf, 0); err != nil {
		return err
	}
	if _, err := c.net.Write(buf); err != nil {
		return c.fail(err)
	}
	return nil
}

// Finish ends the file and returns how many rows the server took.
func (f *InFile) Finish() (int64, error) {
	c := f.conn
	defer c.leave()
	c.in.seq++
	if _, err := c.net.Write([]byte{0, 0, 0, c.in.seq}); err != nil {
		return 0, c.fail(err)
	}
	c.in.reset()
	affected, err := c.answer(nil)
	if err != nil {
		c.failed = c.open
	}
	return affected, err
}

// Abort gives the file up. The protocol has no word for that, so that the
// connection is broken: the server undoes the statement when it is closed.
func (f *InFile) Abort(why error) {
	_ = f.conn.fail(why)
	f.conn.leave()
}
