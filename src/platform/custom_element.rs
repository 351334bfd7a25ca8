//! The bridge between the class of `<agent-feed>`, which only a script can define, and what stands behind it.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use wasm_bindgen::prelude::*;

use super::dom::Element;
use super::stream::Blob;

/// What one `<agent-feed>` of the page can be told and asked.
pub(crate) trait Feed {
    /// An attribute has a new value, or none.
    fn attribute_changed(&self, name: &str, value: Option<&str>);
    /// The secret that opens the server.
    fn set_token(&self, token: Option<String>);
    /// Shows the session that these files make, each with its path.
    fn load(&self, files: Vec<(String, Blob)>);
    /// More of a log: lines in any pieces.
    fn append(&self, bytes: &[u8]);
    /// Empties the feed.
    fn clear(&self);
    /// Rows that came while the page was hidden.
    fn badge(&self) -> u32;
    /// Events reduced so far.
    fn event_count(&self) -> u32;
    /// Rows in the whole session.
    fn row_count(&self) -> u32;
    /// Whether nothing on the page waits for its colours.
    fn is_coloured(&self) -> bool;
    /// The element that scrolls.
    fn scroller(&self) -> Option<Element>;
    /// Brings the row of an event into view and returns its index.
    fn go_to_event(&self, event_idx: u32) -> Option<u32>;
    /// Goes to an event by its id, at once or when it has come.
    fn go_to(&self, event_id: &str);
    /// Moves the player: `play`, `pause`, `seek` to milliseconds of playing, `rate` …
    fn play(&self, command: &str, value: f64);
    /// What the player says: `time`, `duration`, `rate`, `paused`.
    fn playing(&self, name: &str) -> f64;
    /// Shows the session as it was after an event, or all of it again; the last row's index.
    fn view_as_of(&self, event_idx: Option<u32>) -> Option<u32>;
    /// The rows of the whole session as text.
    fn serialize_rows(&self, mask_times: bool) -> Pin<Box<dyn Future<Output = String>>>;
    /// Does what a script asks for, by its name and the words to it.
    fn ask(&self, what: &str, text: &str) -> Pin<Box<dyn Future<Output = Result<String, String>>>>;
    /// The session as a file of the form that ends so.
    fn export_as(
        &self,
        ending: &str,
        masked: bool,
    ) -> Pin<Box<dyn Future<Output = Result<Blob, String>>>>;
    /// The element left the page: everything of it must go.
    fn disconnect(&self);
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
    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&self, token: Option<String>) {
        self.0.set_token(token);
    }
    #[allow(missing_docs)]
    pub fn load(&self, paths: Vec<String>, files: Vec<Blob>) {
        self.0.load(paths.into_iter().zip(files).collect());
    }
    #[allow(missing_docs)]
    pub fn append(&self, bytes: &[u8]) {
        self.0.append(bytes);
    }
    #[allow(missing_docs)]
    pub fn clear(&self) {
        self.0.clear();
    }
    #[allow(missing_docs)]
    pub fn badge(&self) -> u32 {
        self.0.badge()
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = eventCount)]
    pub fn event_count(&self) -> u32 {
        self.0.event_count()
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = rowCount)]
    pub fn row_count(&self) -> u32 {
        self.0.row_count()
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = isColoured)]
    pub fn is_coloured(&self) -> bool {
        self.0.is_coloured()
    }
    #[allow(missing_docs)]
    pub fn scroller(&self) -> Option<Element> {
        self.0.scroller()
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = goToEvent)]
    pub fn go_to_event(&self, event_idx: u32) -> Option<u32> {
        self.0.go_to_event(event_idx)
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = goTo)]
    pub fn go_to(&self, event_id: &str) {
        self.0.go_to(event_id);
    }
    #[allow(missing_docs)]
    pub fn play(&self, command: &str, value: f64) {
        self.0.play(command, value);
    }
    #[allow(missing_docs)]
    pub fn playing(&self, name: &str) -> f64 {
        self.0.playing(name)
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = viewAsOf)]
    pub fn view_as_of(&self, event_idx: Option<u32>) -> Option<u32> {
        self.0.view_as_of(event_idx)
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = serializeRows)]
    pub fn serialize_rows(&self, mask_times: bool) -> js_sys::Promise {
        let rows = self.0.serialize_rows(mask_times);
        promise(Box::pin(async move { Ok(rows.await.into()) }))
    }
    #[allow(missing_docs)]
    #[wasm_bindgen(js_name = exportAs)]
    pub fn export_as(&self, ending: &str, masked: bool) -> js_sys::Promise {
        let file = self.0.export_as(ending, masked);
        promise(Box::pin(async move { Ok(file.await?.into()) }))
    }
    #[allow(missing_docs)]
    pub fn ask(&self, what: &str, text: &str) -> js_sys::Promise {
        let answer = self.0.ask(what, text);
        promise(Box::pin(async move { Ok(answer.await?.into()) }))
    }
    #[allow(missing_docs)]
    pub fn disconnect(&self) {
        self.0.disconnect();
    }
}

/// A promise of what comes; where it does not, of the error that says so.
fn promise(coming: Pin<Box<dyn Future<Output = Result<JsValue, String>>>>) -> js_sys::Promise {
    wasm_bindgen_futures::future_to_promise(async move {
        coming.await.map_err(|why| js_sys::Error::new(&why).into())
    })
}

#[wasm_bindgen(module = "/src/element.js")]
extern "C" {
    #[wasm_bindgen(js_name = defineElement)]
    fn define_element(
        name: &str,
        observed: Vec<String>,
        connect: &Closure<dyn FnMut(web_sys::HtmlElement, web_sys::ShadowRoot) -> FeedHandle>,
    );

    /// Presses a key again where it was pressed, or in the field that has the focus by now.
    #[wasm_bindgen(js_name = pressAgain)]
    pub(crate) fn press_again(place: &Element, key: &super::dom::Event);
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
