//! Images: of a prompt, of what calls give, and those that were made.

use chat_event::{ChatEvent, Payload};
use serde_json::{Value, json};

use super::{of_server, rollout};
use crate::support::told;

const IMAGE: &str = "data:image/png;base64,iVBORw0KGgo=";

/// The results: the value, and what stands beside it.
fn results(events: &[ChatEvent]) -> Vec<(Value, Value)> {
    let results = events.iter().filter_map(|event| match &event.payload {
        Payload::ToolResult(result) => {
            let attached = result.extra.get("attachments");
            let attached = attached.map_or(Value::Null, |list| list.to_value());
            Some((result.result.to_value(), attached))
        }
        _ => None,
    });
    results.collect()
}

/// The model is told where an image begins and ends, in the same message; a person never typed that.
#[test]
fn a_prompt_with_an_image_stands_once() {
    let begins = json!({"type": "task_started", "turn_id": "turn-long-1"});
    let given = |begin: &str| {
        json!({"type": "message", "role": "user", "content": [
            {"type": "input_text", "text": begin}, {"type": "input_image", "image_url": IMAGE},
            {"type": "input_text", "text": "</image>"}, {"type": "input_text", "text": "fix this"}]})
    };
    let event = json!({"type": "user_message", "message": "fix this", "images": [IMAGE]});
    let item = json!({"type": "item_completed", "turn_id": "turn-long-1", "item": {"type": "UserMessage", "id": "um",
        "content": [{"type": "local_image", "path": "/w/a.png"}, {"type": "text", "text": "fix this"}]}});
    for payloads in [
        vec![given("<image>"), event.clone()],
        vec![begins.clone(), given("<image name=[Image #1]>"), event],
        vec![
            begins,
            given("<image name=[Image #1] path=\"/w/a.png\">"),
            item,
        ],
    ] {
        let events = rollout(&payloads);
        let said = told(&events);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        assert_eq!(said, ["turn user", "user fix this", "end interrupted"]);
        let attached = events.iter().find_map(|event| match &event.payload {
            Payload::UserMessage(message) => message.attachments.clone(),
            _ => None,
        });
        let attached: Value = serde_json::from_str(&attached.unwrap().as_text()).unwrap();
        assert_eq!(attached.as_array().map(Vec::len), Some(1));
    }
    // What somebody types is no mark where it is around no image.
    let typed = json!({"type": "message", "role": "user", "content": [
        {"type": "input_text", "text": "<image>"}, {"type": "input_text", "text": "</image>"}]});
    assert_eq!(told(&rollout(&[typed]))[1], "user <image>\n</image>");
}

/// The item of a viewed image says that it was; the output behind it has the image.
#[test]
fn the_image_that_a_call_gives_is_attached_to_its_result() {
    let given = |call: &str, kind: &str| json!({"type": kind, "call_id": call, "output": [{"type": "input_text", "text": "seen"}, {"type": "input_image", "image_url": IMAGE}]});
    let call = json!({"type": "function_call", "name": "view_image", "call_id": "v", "arguments": "{\"path\":\"b.png\"}"});
    let item = |id: &str| json!({"type": "item_completed", "item": {"type": "ImageView", "id": id, "path": "/w/b.png"}});
    let output = given("v", "function_call_output");
    for payloads in [
        vec![call.clone(), output.clone()],
        vec![call.clone(), item("v"), output.clone()],
        vec![
            call,
            json!({"type": "view_image_tool_call", "call_id": "v", "path": "/w/b.png"}),
            output,
        ],
        vec![
            json!({"type": "custom_tool_call", "name": "exec", "call_id": "v", "input": "image(await x())"}),
            item("exec-1"),
            given("v", "custom_tool_call_output"),
        ],
    ] {
        let events = rollout(&payloads);
        let results = events.iter().filter_map(|event| match &event.payload {
            Payload::ToolResult(result) if result.tool_call_id == "v" => Some(result),
            _ => None,
        });
        let results: Vec<_> = results.collect();
        assert_eq!(results.len(), 1);
        assert_eq!(results[0].result.display_text(), "seen");
        let attached = results[0]
            .extra
            .get("attachments")
            .map(|list| list.as_text().to_string());
        let image = r#"[{"mediaType":"image/png","data":"iVBORw0KGgo="}]"#;
        assert_eq!(attached.as_deref(), Some(image));
    }
}

#[test]
fn an_image_that_is_not_shown_is_a_call_that_failed() {
    let call = json!({"type": "function_call", "name": "view_image", "call_id": "v", "arguments": "{\"path\":\"b.png\"}"});
    let told = |text: &str| {
        let output = json!({"type": "function_call_output", "call_id": "v", "output": text});
        let events = rollout(&[call.clone(), output]);
        let result = events.iter().find_map(|event| match &event.payload {
            Payload::ToolResult(result) => Some(result.clone()),
            _ => None,
        });
        result.unwrap().error.map(|error| error.message)
    };
    for text in [
        "unable to locate image at `/w/b.png`: No such file or directory (os error 2)",
        "image path `/w` is not a file",
        "unable to process image at `/w/b.png`: unsupported image format",
        "view_image is not allowed because you do not support image inputs",
    ] {
        assert_eq!(told(text).as_deref(), Some(text));
    }
    // Old versions say it so, and hand the image to the model behind it.
    assert_eq!(told("attached local image path"), None);
}

#[test]
fn the_images_that_a_server_s_tool_gives_are_attached_to_its_result() {
    let attached = json!([{"mediaType": "image/png", "data": "iVBORw0KGgo="}]);
    let wanted = [(json!("the page"), attached)];
    let content = json!([{"type": "text", "text": "the page"},
        {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"}]);
    let end = json!({"type": "mcp_tool_call_end", "call_id": "s1", "invocation": {"server": "browser", "tool": "screenshot",
        "arguments": {}}, "duration": {"secs": 1, "nanos": 0}, "result": {"Ok": {"content": content, "isError": false}}});
    assert_eq!(results(&rollout(&[end])), wanted);
    let item = |item: Value| results(&of_server(&[("item/completed", json!({"item": item}))]));
    let of_server = item(
        json!({"type": "mcpToolCall", "id": "s1", "server": "browser", "tool": "screenshot", "arguments": {},
        "status": "completed", "result": {"content": content, "structuredContent": null}}),
    );
    assert_eq!(of_server, wanted);
    let dynamic = |parts: Value| {
        item(
            json!({"type": "dynamicToolCall", "id": "d1", "tool": "look", "arguments": {}, "status": "completed",
            "success": true, "contentItems": parts}),
        )
    };
    let parts = json!([{"type": "inputText", "text": "the page"}, {"type": "inputImage", "imageUrl": IMAGE}]);
    assert_eq!(dynamic(parts), wanted);
    // What is neither is shown as it is.
    let other = json!([{"type": "inputFile", "fileId": "f1"}]);
    assert_eq!(dynamic(other.clone()), [(other, Value::Null)]);
}

#[test]
fn an_image_that_was_made_is_an_image_named_by_its_file() {
    let image = |name: Option<&str>, media_type: &str| {
        let mut part = json!({"type": "image", "mimeType": media_type, "data": "iVBORw0KGgo="});
        if let Some(name) = name {
            part["name"] = json!(name);
        }
        vec![(json!([part]), Value::Null)]
    };
    let call = json!({"type": "image_generation_call", "id": "ig1", "status": "completed", "revised_prompt": "A boat",
        "result": "iVBORw0KGgo="});
    let end = |path: &str| {
        json!({"type": "image_generation_end", "call_id": "ig1", "status": "completed", "revised_prompt": "A boat",
            "result": "iVBORw0KGgo=", "saved_path": path})
    };
    let path = "/w/out/ig1.webp";
    assert_eq!(
        results(&rollout(std::slice::from_ref(&call))),
        image(None, "image/png")
    );
    let named = image(Some(path), "image/webp");
    assert_eq!(results(&rollout(&[end(path)])), named);
    // Both tell of one image.
    assert_eq!(results(&rollout(&[end(path), call])), named);
    let item = json!({"item": {"type": "imageGeneration", "id": "ig1", "status": "completed", "result": "iVBORw0KGgo=",
        "savedPath": path}});
    let told = of_server(&[("item/completed", item)]);
    assert_eq!(results(&told), named);
}
