//! Frames and turns of the event loop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;

use super::dom;

/// How long work waits in a page that is not shown, where no frames come.
const HIDDEN_DELAY_MS: i32 = 250;

/// Runs one job at most once a frame, however often it is asked for; by a timer where the page is hidden.
pub(crate) struct Frame {
    shared: Rc<Shared>,
    on_frame: Closure<dyn FnMut(f64)>,
    on_timer: Closure<dyn FnMut()>,
}

struct Shared {
    job: RefCell<Box<dyn FnMut()>>,
    frame: Cell<Option<i32>>,
    timer: Cell<Option<i32>>,
}

impl Frame {
    /// A job that has not been asked for yet.
    pub(crate) fn new(job: impl FnMut() + 'static) -> Frame {
        let shared = Rc::new(Shared {
            job: RefCell::new(Box::new(job)),
            frame: Cell::new(None),
            timer: Cell::new(None),
        });
        let (for_frame, for_timer) = (shared.clone(), shared.clone());
        Frame {
            shared,
            on_frame: Closure::new(move |_| for_frame.run()),
            on_timer: Closure::new(move || for_timer.run()),
        }
    }

    /// Asks for the job; a second request before it ran changes nothing.
    pub(crate) fn request(&self) {
        let shared = &self.shared;
        if shared.frame.get().is_none() {
            let on_frame = self.on_frame.as_ref().unchecked_ref();
            if let Ok(id) = dom::window().request_animation_frame(on_frame) {
                shared.frame.set(Some(id));
            }
        }
        // One that was asked for before the page was hidden does not come either.
        if is_hidden() {
            self.request_within(HIDDEN_DELAY_MS);
        }
    }

    /// Asks for the job, which has so much time; another request may make it run before.
    pub(crate) fn request_within(&self, delay_ms: i32) {
        let shared = &self.shared;
        let comes_sooner = shared.frame.get().is_some() && !is_hidden();
        if comes_sooner || shared.timer.get().is_some() {
            return;
        }
        let on_timer = self.on_timer.as_ref().unchecked_ref();
        let timer =
            dom::window().set_timeout_with_callback_and_timeout_and_arguments_0(on_timer, delay_ms);
        if let Ok(id) = timer {
            shared.timer.set(Some(id));
        }
    }
}

impl Shared {
    fn run(&self) {
        self.cancel();
        // A job that asks for itself again is run in the next frame, never within itself.
        if let Ok(mut job) = self.job.try_borrow_mut() {
            job();
        }
    }

    fn cancel(&self) {
        let window = dom::window();
        if let Some(id) = self.frame.take() {
            let _ = window.cancel_animation_frame(id);
        }
        if let Some(id) = self.timer.take() {
            window.clear_timeout_with_handle(id);
        }
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        self.shared.cancel();
    }
}

/// Whether the page is hidden, so that no frames come.
pub(crate) fn is_hidden() -> bool {
    dom::document().visibility_state() == web_sys::VisibilityState::Hidden
}

/// Lets the browser do what waits (input, frames), then goes on. Not a timer: those are slowed down in hidden pages.
pub(crate) async fn yield_now() {
    let promise = js_sys::Promise::new(&mut |resolve, _| {
        YIELDER.with(|yielder| yielder.add(resolve));
    });
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}

/// How long the page may be held at once; the rest of a frame is for layout and paint.
const SLICE_MS: f64 = 8.0;

/// Long work in slices, between which the browser does what waits.
pub(crate) struct Slice {
    began_ms: f64,
}

impl Slice {
    /// The first one begins.
    pub(crate) fn begin() -> Slice {
        Slice { began_ms: now_ms() }
    }

    /// Whether this one has taken its time.
    pub(crate) fn is_over(&self) -> bool {
        now_ms() - self.began_ms > SLICE_MS
    }

    /// Lets the browser do what waits, where this one is over; the next one begins then.
    pub(crate) async fn give_way(&mut self) {
        if self.is_over() {
            yield_now().await;
            *self = Slice::begin();
        }
    }
}

/// Whether the browser has a network at all.
pub(crate) fn is_online() -> bool {
    dom::window().navigator().on_line()
}

/// A number from 0 up to 1, another each time.
pub(crate) fn random() -> f64 {
    js_sys::Math::random()
}

/// A wait; dropping it ends it.
pub(crate) type Sleep = gloo_timers::future::TimeoutFuture;

/// Waits so many milliseconds.
pub(crate) fn sleep(delay_ms: u32) -> Sleep {
    Sleep::new(delay_ms)
}

/// Milliseconds since the page began, with fractions.
pub(crate) fn now_ms() -> f64 {
    PERFORMANCE.with(|performance| performance.as_ref().map_or(0.0, web_sys::Performance::now))
}

/// Notes a moment in the browser's own timeline, for who measures pages.
pub(crate) fn mark(name: &str) {
    PERFORMANCE.with(|performance| {
        if let Some(performance) = performance {
            let _ = performance.mark(name);
        }
    });
}

thread_local! {
    static PERFORMANCE: Option<web_sys::Performance> = dom::window().performance();
    static YIELDER: Yielder = Yielder::new();
}

/// Messages to itself: the one kind of task that is neither throttled nor put before input.
struct Yielder {
    port: JsValue,
    waiting: Rc<RefCell<Vec<js_sys::Function>>>,
    _on_message: Closure<dyn FnMut()>,
}

impl Yielder {
    fn new() -> Yielder {
        let waiting: Rc<RefCell<Vec<js_sys::Function>>> = Rc::default();
        let for_message = waiting.clone();
        let on_message = Closure::<dyn FnMut()>::new(move || {
            for resolve in std::mem::take(&mut *for_message.borrow_mut()) {
                let _ = resolve.call0(&JsValue::NULL);
            }
        });
        let channel = message_channel();
        let port = get(&channel, "port2");
        let _ = js_sys::Reflect::set(
            &get(&channel, "port1"),
            &"onmessage".into(),
            on_message.as_ref(),
        );
        Yielder {
            port,
            waiting,
            _on_message: on_message,
        }
    }

    fn add(&self, resolve: js_sys::Function) {
        self.waiting.borrow_mut().push(resolve);
        if let Some(post) = get(&self.port, "postMessage").dyn_ref::<js_sys::Function>() {
            let _ = post.call1(&self.port, &JsValue::NULL);
        }
    }
}

fn message_channel() -> JsValue {
    let constructor = get(&js_sys::global(), "MessageChannel");
    constructor
        .dyn_ref::<js_sys::Function>()
        .and_then(|constructor| js_sys::Reflect::construct(constructor, &js_sys::Array::new()).ok())
        .unwrap_or_default()
}

fn get(object: &JsValue, name: &str) -> JsValue {
    js_sys::Reflect::get(object, &name.into()).unwrap_or_default()
}
