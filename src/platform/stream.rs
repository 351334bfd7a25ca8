//! Bytes: from a dropped file or an address, piece by piece, copied once into this program's memory.

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use super::dom;

/// A file, or anything else the browser holds as bytes.
pub(crate) type Blob = web_sys::Blob;

/// A file with its name.
pub(crate) type File = web_sys::File;

/// As much comes at once, where the browser writes into a buffer that it is given.
const BUFFER_BYTES: u32 = 1024 * 1024;

/// The status of an answer that is a part of what lies there.
const PARTIAL_CONTENT: u16 = 206;

/// Bytes that come piece by piece.
pub(crate) struct ByteStream {
    reader: StreamReader,
    /// What the browser writes into: a new one for each piece cost a tenth of the time of reading 400 MB. While it is
    /// with the browser there is none.
    buffer: Option<js_sys::ArrayBuffer>,
    /// Length of the whole in bytes, where it is known.
    pub(crate) byte_len: Option<u64>,
    /// The request that it is the answer to.
    asked: Option<Asked>,
}

/// A request that is under way. Who waits for its answer no longer gives it up: browsers have few connections to a server, and
/// one that nobody hears from is held by it.
struct Asked(web_sys::AbortController);

impl Drop for Asked {
    fn drop(&mut self) {
        // Of one that was answered whole this means nothing.
        self.0.abort();
    }
}

impl ByteStream {
    /// Reads a file.
    pub(crate) fn of_blob(blob: &Blob) -> Result<ByteStream, String> {
        ByteStream::of_stream(&blob.stream(), whole_number(blob.size()))
    }

    /// Reads a file from `offset` on.
    pub(crate) fn of_blob_from(blob: &Blob, offset: u64) -> Result<ByteStream, String> {
        // A file is shorter than 2^53 bytes.
        #[allow(clippy::cast_precision_loss)]
        let rest = blob
            .slice_with_f64(offset as f64)
            .map_err(|why| message_of(&why))?;
        Self::of_blob(&rest)
    }

    /// Reads what an address gives. `token` goes out as `Authorization` where there is one.
    pub(crate) async fn of_address(
        address: &str,
        token: Option<&str>,
    ) -> Result<ByteStream, FetchError> {
        Self::of_part(address, token, None).await
    }

    /// Reads what an address gives, or so many bytes of its beginning. A server that knows no parts gives all of it: who asks
    /// for a part takes no more of it than that.
    pub(crate) async fn of_part(
        address: &str,
        token: Option<&str>,
        n_bytes: Option<u64>,
    ) -> Result<ByteStream, FetchError> {
        let (response, asked) = fetch(address, token, n_bytes).await?;
        check_part(&response)?;
        let length = response.headers().get("content-length").ok().flatten();
        // A compressed answer is longer than its header says.
        let compressed = response
            .headers()
            .get("content-encoding")
            .ok()
            .flatten()
            .is_some();
        let byte_len = length
            .filter(|_| !compressed)
            .and_then(|length| length.parse().ok());
        let body = response
            .body()
            .ok_or_else(|| FetchError::Failed("the answer has no body".to_owned()))?;
        let mut stream = ByteStream::of_stream(&body, byte_len).map_err(FetchError::Failed)?;
        stream.asked = Some(asked);
        Ok(stream)
    }

    fn of_stream(
        stream: &web_sys::ReadableStream,
        byte_len: Option<u64>,
    ) -> Result<ByteStream, String> {
        let stream: &Stream = stream.unchecked_ref();
        let into_buffers = js_sys::Object::new();
        let _ = js_sys::Reflect::set(&into_buffers, &"mode".into(), &"byob".into());
        // Not every browser's streams can write into buffers of others.
        let reader = stream
            .reader(&into_buffers)
            .or_else(|_| stream.reader(&JsValue::UNDEFINED))
            .map_err(|why| message_of(&why))?;
        Ok(ByteStream {
            reader,
            buffer: None,
            byte_len,
            asked: None,
        })
    }

    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<u8>>, String> {
        let buffer = self.buffer.take();
        let buffer = buffer.unwrap_or_else(|| js_sys::ArrayBuffer::new(BUFFER_BYTES));
        let read = self.reader.read(&js_sys::Uint8Array::new(&buffer));
        let read = JsFuture::from(read).await.map_err(|why| message_of(&why))?;
        let get = |name: &str| js_sys::Reflect::get(&read, &name.into()).unwrap_or_default();
        let value = get("value");
        let Some(piece) = value.dyn_ref::<js_sys::Uint8Array>() else {
            return Ok(None);
        };
        self.buffer = Some(piece.buffer());
        Ok((!get("done").is_truthy()).then(|| piece.to_vec()))
    }

    /// Ends the transfer: nothing comes any more.
    pub(crate) fn close(&self) {
        let cancelled = self.reader.cancel();
        wasm_bindgen_futures::spawn_local(async move {
            let _ = JsFuture::from(cancelled).await;
        });
    }
}

impl Drop for ByteStream {
    fn drop(&mut self) {
        // Whoever stops listening stops the transfer too.
        self.close();
        drop(self.asked.take());
    }
}

#[wasm_bindgen]
extern "C" {
    type Stream;
    #[wasm_bindgen(method, catch, js_name = getReader)]
    fn reader(this: &Stream, options: &JsValue) -> Result<StreamReader, JsValue>;

    /// What reads a stream; one that does not write into what it is given takes no heed of it.
    type StreamReader;
    #[wasm_bindgen(method)]
    fn read(this: &StreamReader, into: &js_sys::Uint8Array) -> js_sys::Promise;
    #[wasm_bindgen(method)]
    fn cancel(this: &StreamReader) -> js_sys::Promise;
}

/// Why an address gave nothing.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum FetchError {
    /// The server answered with another status than was hoped for.
    Status {
        code: u16,
        /// When to come back, where it said so.
        retry_after_ms: Option<u64>,
        /// Whether it says why in JSON, as servers of sessions do.
        in_json: bool,
    },
    /// Nobody answered, or not with what was asked for.
    Failed(String),
}

impl std::fmt::Display for FetchError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            FetchError::Status { code, .. } => write!(f, "the server answered {code}"),
            FetchError::Failed(why) => f.write_str(why),
        }
    }
}

/// Fetches an address whole.
pub(crate) async fn fetch_bytes(address: &str, token: Option<&str>) -> Result<Vec<u8>, FetchError> {
    let (response, _asked) = fetch(address, token, None).await?;
    bytes_of(&response).await
}

/// At most so many bytes of what the browser holds, from a place on.
pub(crate) async fn bytes_of_blob(blob: &Blob, from: u64, n_bytes: u64) -> Result<Vec<u8>, String> {
    let told = |why| message_of(&why);
    let buffer = asked_of_blob(blob, from, n_bytes).map_err(told)?;
    let buffer = JsFuture::from(buffer).await.map_err(told)?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// What each of these begins with, at most so many bytes, read beside each other; nothing of one that cannot be read.
pub(crate) async fn heads_of_blobs(
    blobs: impl Iterator<Item = &Blob>,
    n_bytes: u64,
) -> Vec<Vec<u8>> {
    // Each is asked for before the first is waited for.
    let asked = blobs.map(|blob| asked_of_blob(blob, 0, n_bytes).ok().map(JsFuture::from));
    let asked: Vec<_> = asked.collect();
    let mut heads = Vec::with_capacity(asked.len());
    for buffer in asked {
        let buffer = match buffer {
            Some(buffer) => buffer.await.ok(),
            None => None,
        };
        let head = buffer.map(|buffer| js_sys::Uint8Array::new(&buffer).to_vec());
        heads.push(head.unwrap_or_default());
    }
    heads
}

/// A promise of a part of what the browser holds.
fn asked_of_blob(blob: &Blob, from: u64, n_bytes: u64) -> Result<js_sys::Promise, JsValue> {
    // Far below 2^53, but for "all of it".
    #[allow(clippy::cast_precision_loss)]
    let (from, to) = (from as f64, from.saturating_add(n_bytes) as f64);
    let part = blob.slice_with_f64_and_f64(from, to.min(blob.size()))?;
    Ok(part.array_buffer())
}

/// Sends JSON to an address; the answer's status and body, whatever the status.
pub(crate) async fn post_json(
    address: &str,
    token: Option<&str>,
    json: &str,
) -> Result<(u16, Vec<u8>), FetchError> {
    let response = send(address, token, None, (Sent::Json(json), None)).await?;
    let body = bytes_of(&response).await?;
    Ok((response.status(), body))
}

/// Asks that what an address names be removed; the answer's status and body, whatever the status.
pub(crate) async fn delete(
    address: &str,
    token: Option<&str>,
) -> Result<(u16, Vec<u8>), FetchError> {
    let response = send(address, token, None, (Sent::Removal, None)).await?;
    let body = bytes_of(&response).await?;
    Ok((response.status(), body))
}

/// What goes to an address.
enum Sent<'a> {
    /// Nothing: it is asked for what it has.
    Nothing,
    /// JSON, by POST.
    Json(&'a str),
    /// Word that what it has be removed.
    Removal,
}

async fn bytes_of(response: &web_sys::Response) -> Result<Vec<u8>, FetchError> {
    let failed = |why: JsValue| FetchError::Failed(message_of(&why));
    let buffer = JsFuture::from(response.array_buffer().map_err(failed)?)
        .await
        .map_err(failed)?;
    Ok(js_sys::Uint8Array::new(&buffer).to_vec())
}

/// Asks, for the first `n_bytes` where that is set. What is sent goes on its way whoever waits.
async fn send(
    address: &str,
    token: Option<&str>,
    n_bytes: Option<u64>,
    (sent, asked): (Sent<'_>, Option<&Asked>),
) -> Result<web_sys::Response, FetchError> {
    let failed = |why: JsValue| FetchError::Failed(message_of(&why));
    // No header can bear it, and no server has given it: something was pasted with it.
    if token.is_some_and(|token| !token.bytes().all(|byte| byte.is_ascii_graphic())) {
        return Err(FetchError::Status {
            code: 401,
            retry_after_ms: None,
            in_json: true,
        });
    }
    let init = web_sys::RequestInit::new();
    let headers = web_sys::Headers::new().map_err(failed)?;
    if let Some(token) = token {
        headers
            .set("authorization", &format!("Bearer {token}"))
            .map_err(failed)?;
    }
    if let Some(last) = n_bytes.and_then(|n_bytes| n_bytes.checked_sub(1)) {
        headers
            .set("range", &format!("bytes=0-{last}"))
            .map_err(failed)?;
    }
    match sent {
        Sent::Nothing => {}
        Sent::Json(json) => {
            headers
                .set("content-type", "application/json")
                .map_err(failed)?;
            init.set_method("POST");
            init.set_body(&JsValue::from_str(json));
        }
        Sent::Removal => init.set_method("DELETE"),
    }
    init.set_headers(&headers);
    if let Some(Asked(controller)) = asked {
        init.set_signal(Some(&controller.signal()));
    }
    // What a browser kept of an answer that was cut off must not stand in for the next one: pages of a log were asked
    // for again and again, and gave nothing new.
    let _ = js_sys::Reflect::set(&init, &"cache".into(), &"no-store".into());
    let response = JsFuture::from(dom::window().fetch_with_str_and_init(address, &init))
        .await
        .map_err(failed)?;
    Ok(response.unchecked_into())
}

async fn fetch(
    address: &str,
    token: Option<&str>,
    n_bytes: Option<u64>,
) -> Result<(web_sys::Response, Asked), FetchError> {
    let controller = web_sys::AbortController::new();
    let asked = Asked(controller.map_err(|why| FetchError::Failed(message_of(&why)))?);
    let response = send(address, token, n_bytes, (Sent::Nothing, Some(&asked))).await?;
    if response.ok() {
        Ok((response, asked))
    } else {
        let header = |name| response.headers().get(name).ok().flatten();
        let retry_after = header("retry-after");
        let seconds = retry_after.and_then(|seconds| seconds.trim().parse::<u64>().ok());
        let retry_after_ms = seconds.map(|seconds| seconds.saturating_mul(1_000));
        let content_type = header("content-type").unwrap_or_default();
        Err(FetchError::Status {
            code: response.status(),
            retry_after_ms,
            in_json: content_type.starts_with("application/json"),
        })
    }
}

/// A part that is answered begins at the beginning: no other is asked for here. A server of another origin need not say
/// which part it is.
fn check_part(response: &web_sys::Response) -> Result<(), FetchError> {
    let range = response.headers().get("content-range").ok().flatten();
    let range = range.filter(|_| response.status() == PARTIAL_CONTENT);
    let is_beginning = |range: &str| {
        let range = range
            .trim_start()
            .strip_prefix("bytes")
            .map(str::trim_start);
        range.is_some_and(|range| range.starts_with("0-"))
    };
    match range.filter(|range| !is_beginning(range)) {
        Some(range) => Err(FetchError::Failed(format!(
            "the server answered with other bytes than were asked for ({range})"
        ))),
        None => Ok(()),
    }
}

fn message_of(why: &JsValue) -> String {
    match why.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => "the browser gives no reason".to_owned(),
    }
}

fn whole_number(number: f64) -> Option<u64> {
    // A file is shorter than 2^53 bytes.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    (number >= 0.0).then_some(number as u64)
}
