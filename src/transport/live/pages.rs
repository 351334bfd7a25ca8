//! What the page itself tells the connection: that it is hidden, shown, on a network again.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Waker};

use chat_feed::connection::Input;

use crate::platform::dom::{self, Listener};
use crate::platform::frame;

/// What the browser tells about the page and its network.
pub(super) struct PageEvents {
    pub(super) shared: Rc<RefCell<Told>>,
    _listeners: Vec<Listener>,
}

#[derive(Default)]
pub(super) struct Told {
    inputs: VecDeque<Input>,
    waker: Option<Waker>,
}

impl PageEvents {
    pub(super) fn listen() -> PageEvents {
        let shared: Rc<RefCell<Told>> = Rc::default();
        let tell = |input: fn() -> Input| {
            let shared = shared.clone();
            move |_| tell(&shared, input())
        };
        let listeners = vec![
            dom::listen_document(
                "visibilitychange",
                tell(|| Input::Hidden(frame::is_hidden())),
            ),
            dom::listen_document("resume", tell(|| Input::Hidden(frame::is_hidden()))),
            dom::listen_window("pageshow", tell(|| Input::Hidden(frame::is_hidden()))),
            dom::listen_window("online", tell(|| Input::Online(true))),
            dom::listen_window("offline", tell(|| Input::Online(false))),
        ];
        {
            let mut told = shared.borrow_mut();
            told.inputs.push_back(Input::Hidden(frame::is_hidden()));
            told.inputs.push_back(Input::Online(frame::is_online()));
        }
        PageEvents {
            shared,
            _listeners: listeners,
        }
    }

    pub(super) fn next(&self, context: &Context<'_>) -> Option<Input> {
        let mut told = self.shared.borrow_mut();
        let input = told.inputs.pop_front();
        if input.is_none() {
            told.waker = Some(context.waker().clone());
        }
        input
    }
}

pub(super) fn tell(shared: &RefCell<Told>, input: Input) {
    let mut told = shared.borrow_mut();
    told.inputs.push_back(input);
    if let Some(waker) = told.waker.take() {
        waker.wake();
    }
}
