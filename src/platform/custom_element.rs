//! The bridge between the class of `<agent-feed>`, which only a script can define, and what stands behind it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::dom::Element;
use super::save::Pieces;
use super::stream::Blob;

/// What a script is answered.
pub(crate) enum Answer {
    /// A text.
    Text(String),
    /// A file.
    File(Blob),
}

/// What is answered later, or why it cannot be.
pub(crate) type Answering = Pin<Box<dyn Future<Output = Result<Answer, String>>>>;

/// What a packed stream unpacks to, as far as it came: nothing where more of it is needed. `None` where it cannot be unpacked,
/// which was told by then.
pub(crate) type Unpacking = Pin<Box<dyn Future<Output = Option<Vec<u8>>>>>;

/// What one `<agent-feed>` of the page can be told and asked. There are few ways to do so, because each is written down
/// twice in what a page loads first.
pub(crate) trait Feed {
    /// An attribute has a new value, or none; the same of `token`, the secret that opens the server, and of `event`, by
    /// whose id it is gone to, at once or when it has come.
    fn attribute_changed(&self, name: &str, value: Option<&str>);
    /// Shows the session that these files make, each with its path.
    fn load(&self, files: Vec<(String, Blob)>);
    /// More of a log: lines in any pieces; whether a stream is open that brings more, and whether they begin something, and
    /// go not on where others ended. What is packed and begins something is all of it. False where nobody wants what they are
    /// a piece of.
    fn append(&self, bytes: &[u8], is_open: bool, begins: bool) -> bool;
    /// Takes the next bytes of a packed stream, which has a number, and whether these are the last of it. What they unpack to is
    /// for who appends it.
    fn unpack(&self, stream: u32, packed: &[u8], is_whole: bool) -> Unpacking;
    /// Does what is done at once, or says a number: `clear`; `given` is all that streams bring; `adopted` by another
    /// document; `badge`, `events`, `rows`; `play`, `pause`, `seek` to milliseconds of playing; `time`, `duration` …
    fn act(&self, what: &str, value: f64) -> f64;
    /// Does what takes its time, by its name and the words to it.
    fn ask(&self, what: &str, text: &str) -> Answering;
    /// What was appended, as the pieces in which it came.
    fn pieces(&self) -> Pieces;
}

/// What the element's class holds of its feed.
#[wasm_bindgen]
pub struct FeedHandle(Rc<dyn Feed>);

#[wasm_bindgen]
impl FeedHandle {
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = attributeChanged)]
    pub fn attribute_changed(&self, name: &str, value: Option<String>) {
        self.0.attribute_changed(name, value.as_deref());
    }
    #[allow(missing_docs)]
    pub fn load(&self, paths: Vec<String>, files: Vec<Blob>) {
        self.0.load(paths.into_iter().zip(files).collect());
    }
    #[allow(missing_docs)]
    pub fn append(&self, bytes: &[u8], is_open: bool, begins: bool) -> bool {
        self.0.append(bytes, is_open, begins)
    }
    #[allow(missing_docs)]
    pub fn unpack(&self, stream: u32, packed: &[u8], is_whole: bool) -> js_sys::Promise {
        let unpacking = self.0.unpack(stream, packed, is_whole);
        wasm_bindgen_futures::future_to_promise(async move {
            let unpacked = unpacking.await;
            Ok(unpacked.map_or(JsValue::NULL, |bytes| {
                js_sys::Uint8Array::from(bytes.as_slice()).into()
            }))
        })
    }
    #[allow(missing_docs)]
    pub fn act(&self, what: &str, value: f64) -> f64 {
        self.0.act(what, value)
    }
    #[allow(missing_docs)]
    pub fn pieces(&self) -> JsValue {
        self.0.pieces().to_js()
    }
    #[allow(missing_docs)]
    pub fn ask(&self, what: &str, text: &str) -> js_sys::Promise {
        let answer = self.0.ask(what, text);
        wasm_bindgen_futures::future_to_promise(async move {
            match answer.await {
                Ok(Answer::Text(text)) => Ok(text.into()),
                Ok(Answer::File(file)) => Ok(file.into()),
                Err(why) => Err(js_sys::Error::new(&why).into()),
            }
        })
    }
}

#[wasm_bindgen(module = "/src/element.js")]
extern "C" {
    #[wasm_bindgen(js_name = defineElement)]
    fn define_element(
        name: &str,
        observed: Vec<String>,
        connect: &Closure<dyn FnMut(web_sys::HtmlElement, web_sys::ShadowRoot) -> FeedHandle>,
    );

    /// Presses a key again where it was pressed, or in the field that has the focus by now; false where it was taken.
    #[wasm_bindgen(js_name = pressAgain)]
    pub(crate) fn press_again(place: &Element, key: &super::dom::Event) -> bool;
}

/// Teaches the browser the element; `connect` is called with each one that enters the page.
pub(crate) fn define(
    name: &str,
    observed: &[&str],
    mut connect: impl FnMut(Element, web_sys::ShadowRoot) -> Rc<dyn Feed> + 'static,
) {
    let observed = observed.iter().map(|name| (*name).to_owned()).collect();
    let connect = Closure::new(move |host: web_sys::HtmlElement, root| {
        FeedHandle(connect(host.into(), root))
    });
    define_element(name, observed, &connect);
    // An element's class lives as long as the page.
    connect.forget();
}
