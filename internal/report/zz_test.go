package report
import ("testing";"os"
"github.com/chromedp/chromedp"
)
func TestDump(t *testing.T){
 for n,s := range map[string]func() (string,error){
 "q":func() (string,error){return Write(quickstart(),"/tmp/rep/q")},
 "i":func() (string,error){return Write(invalid(),"/tmp/rep/i")},
 "e":func() (string,error){return Write(empty(),"/tmp/rep/e")},
 "h":func() (string,error){return Write(hostile(),"/tmp/rep/h")}} { if _,err:=s();err!=nil{t.Fatal(n,err)}}
 os.WriteFile("/tmp/rep/t60.txt",[]byte(Text(quickstart(),60,true)),0o644)
 ctx:=browser(t)
 for _,x := range []struct{name,dir string; w int64; scheme string}{{"q-light","q",1280,"light"},{"q-dark","q",1280,"dark"},{"q-phone","q",360,"light"},{"i-light","i",1280,"light"},{"e-light","e",900,"light"},{"h-light","h",900,"light"}} {
  tab,_:=open(t,ctx,"/tmp/rep/"+x.dir+"/index.html",x.w)
  emulate(t,tab,"",x.scheme)
  buf,err:=chromedp.Run(tab,chromedp.FullScreenshot(100)); must(t,err)
  os.WriteFile("/tmp/rep/"+x.name+".png",buf,0o644)
  if x.name=="q-dark" { b,err:=chromedp.Run(tab,chromedp.PrintToPDF(chromedp.PDFPreferCSSPageSize(),chromedp.PDFPrintBackground())); must(t,err); os.WriteFile("/tmp/rep/q.pdf",b,0o644)}
 }
}
