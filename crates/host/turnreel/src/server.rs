//! Listening, and stopping.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::doors::{Complaints, Inside};
use crate::error::ApiError;
use crate::masking;
use crate::panics;
use crate::removed;
use crate::routes;
use crate::stall::Guarded;
use crate::state::{State, stopped};
use crate::stopping;
use crate::wire::Wire;

/// A request's head is read up to this length, so that the guard can say what is too long about it.
const HEAD_BYTES: usize = 80 * 1024;
/// And have this many headers.
const HEAD_HEADERS: usize = 100;

/// How long requests that are under way may take to end once the server stops.
const GRACE: Duration = Duration::from_secs(4);

/// Serves until `shutdown` is ready, then lets what is under way end, and leaves the logs marked as closed.
///
/// # Errors
///
/// Where the listener has no address any more.
pub async fn run(
    listener: TcpListener,
    state: State,
    shutdown: impl Future<Output = ()> + Send,
) -> std::io::Result<()> {
    listener.local_addr()?;
    let router = routes::router(state.clone());
    let mut connections = JoinSet::new();
    let mut complaints = Complaints::default();
    let looking = tokio::spawn(removed::look(state.clone()));
    if state.masking.get().is_some() {
        tokio::spawn(masking::tell_waiting(state.clone()));
    }
    tokio::pin!(shutdown);
    loop {
        let accepting = async {
            let way = state.doors.way_in().await;
            (listener.accept().await, way)
        };
        let (accepted, way) = tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => continue,
            accepted = accepting => accepted,
        };
        match accepted {
            Ok((stream, peer)) => match state.doors.let_in(way, peer.ip()) {
                Some(inside) => {
                    let (router, state) = (router.clone(), state.clone());
                    connections.spawn(connection(stream, router, state, inside));
                }
                None => {
                    connections.spawn(state.doors.turn_away(stream));
                }
            },
            Err(why) => {
                // Most often there are no file descriptors left; some are freed when others leave.
                complaints.say(&why);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        }
    }
    drop(listener);
    looking.abort();
    tracing::info!("stopping");
    state.stopping.send_replace(true);
    let all_ended = async {
        while connections.join_next().await.is_some() {}
        // Sockets have left their connections; each holds a permit.
        let all = u32::try_from(state.settings.sockets).unwrap_or(u32::MAX);
        let _ = state.sockets.acquire_many(all).await;
    };
    if tokio::time::timeout(GRACE, all_ended).await.is_err() {
        tracing::warn!("some connections did not end in time");
    }
    // Nothing is sent any more.
    let what = || "what was held back to be masked".to_owned();
    stopping::wait_for(masking::tell_all(&state), GRACE, &what).await;
    stopping::close_logs(&state).await;
    Ok(())
}

async fn connection(stream: TcpStream, router: Router, state: State, inside: Inside) {
    let mut stopping = state.stopping.subscribe();
    // Frames are small and must leave at once.
    let _ = stream.set_nodelay(true);
    let (wire, watch) = Wire::new(stream);
    let stall = Duration::from_millis(state.settings.stall_ms);
    // Sockets that take nothing are told so before the connection is given up: that is seen within a quarter more, and they
    // have another to take it.
    // A socket leaves with it, and what is listened to after an answer has a place as well.
    let inside = Arc::new(inside);
    let guarded = Guarded::new(wire, stall * 3 / 2, Some(inside.clone()));
    let pace = guarded.pace();
    let inner = TowerToHyperService::new(router);
    let watching = watch.clone();
    let service = service_fn(move |mut request: hyper::Request<_>| {
        request.extensions_mut().insert(pace.clone());
        let answering = panics::answered(inner.call(request));
        let odd = watching.is_odd();
        async move { if odd { Ok(odd_head()) } else { answering.await } }
    });
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(Duration::from_millis(state.settings.head_timeout_ms))
        .max_buf_size(HEAD_BYTES)
        .max_headers(HEAD_HEADERS)
        .serve_connection(TokioIo::new(guarded), service)
        .with_upgrades();
    let ended = {
        // Its buffers go with it, before the rest of a refused body is listened to.
        let mut serving = pin!(serving);
        tokio::select! {
            ended = &mut serving => ended,
            () = stopped(&mut stopping) => {
                serving.as_mut().graceful_shutdown();
                serving.await
            }
        }
    };
    if let Err(why) = ended {
        if why.is_timeout() {
            watch.too_slow();
        }
        tracing::debug!("a connection ended: {why}");
    }
    watch.linger().await;
    drop(inside);
}

/// To a head that another reader may take otherwise than we do. The connection ends with it.
fn odd_head() -> Response {
    let message =
        "the request's head is ambiguous: lines end with CR and LF, and a body has one length";
    let mut response = ApiError::bad_request("bad_request", message).into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(header::CONNECTION, close);
    response
}
