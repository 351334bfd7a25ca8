//! The wire form of Chat Completions messages, as `ChatCompletionMessageParam` of the npm package `openai` has it.

use serde::{Deserialize, Serialize};

/// One message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum OpenAiMessage {
    /// A person, or what stands in for one: a callback, a summary.
    User {
        /// What is said.
        content: OpenAiContent,
    },
    /// The model.
    Assistant {
        /// What it says; `null` where it only calls tools.
        content: Option<String>,
        /// The calls it makes, in order.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<OpenAiToolCall>,
    },
    /// The result of a call.
    Tool {
        /// Which call.
        tool_call_id: String,
        /// The result.
        content: String,
    },
}

/// A text, or a text with images.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OpenAiContent {
    /// A text alone.
    Text(String),
    /// Texts and images.
    Parts(Vec<OpenAiPart>),
}

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum OpenAiPart {
    /// A text.
    Text {
        /// The text.
        text: String,
    },
    /// An image.
    ImageUrl {
        /// Where it is.
        image_url: OpenAiImageUrl,
    },
}

/// Where an image is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAiImageUrl {
    /// A `data:` URL.
    pub url: String,
}

/// One call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAiToolCall {
    /// Links the call to its result; 40 characters at most.
    pub id: String,
    /// Always `function`.
    #[serde(rename = "type")]
    pub call_type: OpenAiCallType,
    /// What is called.
    pub function: OpenAiFunction,
}

/// The one type of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenAiCallType {
    /// A function.
    Function,
}

/// A function and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAiFunction {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// A JSON object, as text.
    pub arguments: String,
}

impl OpenAiMessage {
    /// A user's message without images.
    pub(in crate::projections) fn user(text: String) -> Self {
        OpenAiMessage::User {
            content: OpenAiContent::Text(text),
        }
    }
}
