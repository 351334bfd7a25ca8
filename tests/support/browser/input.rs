//! What a person does to a page: the pointer, the wheel, keys, and files that are dropped.

use std::path::Path;
use std::time::Duration;

use chromiumoxide::cdp::browser_protocol::input::{
    DispatchKeyEventParams, DispatchKeyEventType, DispatchMouseEventParams, DispatchMouseEventType,
    InsertTextParams, MouseButton,
};
use chromiumoxide::layout::Point;
use chromiumoxide::types::{Command, Method, MethodId};
use serde::Serialize;
use serde_json::{Value, json};

use super::{POINTER, Tab, WINDOW_PX};

impl Tab {
    /// Drops files on the page, in its middle, as from the desktop.
    pub(crate) async fn drop_files(&self, paths: &[&Path]) {
        // There is one pointer to drag with.
        let _pointer = POINTER.lock().await;
        self.page
            .bring_to_front()
            .await
            .expect("the window comes to the front");
        for _ in 0..5 {
            let before: u64 = self.eval("__test.dropped").await;
            for kind in ["dragEnter", "dragOver", "drop"] {
                let drag = DragFiles {
                    kind,
                    x: f64::from(WINDOW_PX.0) * 0.6,
                    y: f64::from(WINDOW_PX.1) * 0.5,
                    data: json!({ "items": [], "files": paths, "dragOperationsMask": 1 }),
                };
                self.page
                    .execute(drag)
                    .await
                    .expect("the drop is dispatched");
                // The page's answer to a drag must be known before the next step; a busy browser takes its time.
                self.run("await __test.frames(2)").await;
            }
            for _ in 0..20 {
                let now: u64 = self.eval("__test.dropped").await;
                if now > before {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        panic!("{}: the browser delivered no drop", self.name);
    }

    /// Turns the wheel over a point.
    pub(crate) async fn wheel(&self, (x, y): (f64, f64), down_px: f64) {
        let params = DispatchMouseEventParams::builder()
            .r#type(DispatchMouseEventType::MouseWheel)
            .x(x)
            .y(y)
            .delta_x(0.0)
            .delta_y(down_px)
            .build()
            .expect("a wheel event");
        self.page.execute(params).await.expect("the wheel turns");
    }

    /// Clicks the middle of the element that an expression gives.
    pub(crate) async fn click(&self, element: &str) {
        let middle = self.middle_of(element).await;
        self.page.click(middle).await.expect("a click");
    }

    /// Moves the pointer to the middle of the element that an expression gives.
    pub(crate) async fn point_at(&self, element: &str) {
        let moved = self.page.move_mouse(self.middle_of(element).await).await;
        moved.expect("the pointer moves");
    }

    /// Presses the button of the pointer on the middle of one element, moves over to that of another, and lets go there.
    pub(crate) async fn drag(&self, from: &str, to: &str) {
        use DispatchMouseEventType::{MouseMoved, MousePressed, MouseReleased};
        let (from, to) = (self.middle_of(from).await, self.middle_of(to).await);
        let between = Point::new((from.x + to.x) / 2.0, (from.y + to.y) / 2.0);
        for (kind, at, buttons) in [
            (MouseMoved, &from, 0),
            (MousePressed, &from, 1),
            (MouseMoved, &between, 1),
            (MouseMoved, &to, 1),
            (MouseReleased, &to, 0),
        ] {
            let button = match kind {
                MouseMoved if buttons == 0 => MouseButton::None,
                _ => MouseButton::Left,
            };
            let params = DispatchMouseEventParams::builder()
                .r#type(kind)
                .x(at.x)
                .y(at.y)
                .button(button)
                .buttons(buttons)
                .click_count(1)
                .build()
                .expect("an event of the pointer");
            let done = self.page.execute(params).await;
            done.expect("the pointer drags");
        }
    }

    async fn middle_of(&self, element: &str) -> Point {
        let at: Option<(f64, f64)> = self.eval(&format!("__test.middle({element})")).await;
        let (x, y) = at.unwrap_or_else(|| panic!("{}: nothing to point at: {element}", self.name));
        Point::new(x, y)
    }

    /// Types into what has the focus.
    pub(crate) async fn type_text(&self, text: &str) {
        self.page
            .execute(InsertTextParams::new(text))
            .await
            .expect("text is typed");
    }

    /// Presses a key such as `Enter` or `End`.
    pub(crate) async fn press(&self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "End" => 35,
            "Home" => 36,
            "Tab" => 9,
            "Escape" => 27,
            " " => 32,
            _ => 0,
        };
        for kind in [DispatchKeyEventType::KeyDown, DispatchKeyEventType::KeyUp] {
            let mut params = DispatchKeyEventParams::builder()
                .r#type(kind.clone())
                .key(key)
                .code(key)
                .windows_virtual_key_code(code)
                .native_virtual_key_code(code);
            if key == "Enter" && kind == DispatchKeyEventType::KeyDown {
                params = params.text("\r");
            }
            self.page
                .execute(params.build().expect("a key event"))
                .await
                .expect("a key is pressed");
        }
    }
}

/// `Input.dispatchDragEvent`. The typed one leaves an empty list of items out, which the browser wants.
#[derive(Debug, Serialize)]
struct DragFiles {
    #[serde(rename = "type")]
    kind: &'static str,
    x: f64,
    y: f64,
    data: Value,
}

impl Method for DragFiles {
    fn identifier(&self) -> MethodId {
        "Input.dispatchDragEvent".into()
    }
}

impl Command for DragFiles {
    type Response = Value;
}
