//! `turnreel serve`: opens the folder, the token and the address, says where the page is, and serves; with `watch`, beside
//! that agents' sessions are followed.

mod page;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_store::{Options, Store, SyncPolicy};
use clap::builder::FalseyValueParser;
use tokio::net::{TcpListener, TcpSocket};
use tracing::level_filters::LevelFilter;

use crate::cli::DataArg;
use crate::copies::CopyArgs;
use crate::hosts::name_and_port;
use crate::limits::LimitArgs;
use crate::locked::locked;
use crate::logging::{self, Format};
use crate::masking::Masking;
use crate::state::State;
use crate::tokens::Record;
use crate::watch::{self, Watch, Watching};
use crate::{
    assets, data_dir, doors, examples, leftovers, panics, removal, server, signals, tokens,
};
use page::{announce, lead_to, page_at};

/// The port where none is asked for.
const DEFAULT_PORT: u16 = 7473;

/// Connections that wait to be let in: where the system's queue is full it drops them, and who comes tries again after a
/// second. It may hold fewer; on Linux 4096 is what it allows at most unless it is told otherwise.
const WAITING_CONNECTIONS: u32 = 4096;

/// Where the folder took no file, it is tried again this often.
const NAME_EVERY: Duration = Duration::from_secs(5);

/// What `turnreel serve` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Read settings from this file [default: turnreel.toml in the data folder, where it is there].
    #[arg(long, value_name = "FILE", env = "TURNREEL_CONFIG")]
    config: Option<PathBuf>,

    /// Listen on this address; port 0 takes a free one. Beyond this machine only once tokens were made for those who come.
    #[arg(long, value_name = "ADDR:PORT", env = "TURNREEL_LISTEN", default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)), value_parser = parse_address)]
    listen: SocketAddr,

    #[command(flatten)]
    data: DataArg,

    /// Print one line {"url","token"} once it listens, for scripts.
    #[arg(long)]
    ready_json: bool,

    /// Begin an empty data folder without the example sessions.
    #[arg(long, env = "TURNREEL_NO_EXAMPLES", value_parser = FalseyValueParser::new())]
    no_examples: bool,

    /// When events are made to survive a power failure; they survive a crash of the server in any case.
    #[arg(long, value_enum, default_value_t = Sync::Everysec, env = "TURNREEL_SYNC")]
    sync: Sync,

    /// Begin a new file when a session's log has so many MiB; full files are never written again.
    #[arg(long, value_name = "MIB", env = "TURNREEL_SEGMENT_MIB", default_value_t = Options::default().segment_bytes / (1024 * 1024), value_parser = clap::value_parser!(u64).range(1..))]
    segment_mib: u64,

    /// Let pages of this origin read and send, with the token; may be given more than once.
    #[arg(long = "embed-origin", value_name = "ORIGIN", env = "TURNREEL_EMBED_ORIGIN", value_delimiter = ',', value_parser = parse_origin)]
    embed_origins: Vec<String>,

    /// Answer to this name as well, as a network or a proxy in front has it: feed.example.org or 192.0.2.7:7473; may be
    /// given more than once.
    #[arg(long = "host", value_name = "HOST[:PORT]", env = "TURNREEL_HOST", value_delimiter = ',', value_parser = parse_host)]
    hosts: Vec<String>,

    /// The address by which others reach the page, over a proxy in front: https://feed.example.org, or with the path below
    /// which the proxy has it. Links that are handed on begin so, and it is answered to.
    #[arg(long, value_name = "URL", env = "TURNREEL_PUBLIC_URL", value_parser = parse_public_url)]
    public_url: Option<String>,

    /// Mask secrets before they are stored. What is masked is gone: nobody can read it again. Names and addresses stay.
    #[arg(long, env = "TURNREEL_MASK", value_parser = FalseyValueParser::new())]
    mask: bool,

    #[command(flatten)]
    copies: CopyArgs,

    #[command(flatten)]
    limits: LimitArgs,

    /// How much to say on stderr.
    #[arg(long, value_name = "LEVEL", env = "TURNREEL_LOG", default_value = "info", value_parser = ["off", "error", "warn", "info", "debug", "trace"])]
    log: String,

    /// How to say it.
    #[arg(long, value_enum, value_name = "FORMAT", env = "TURNREEL_LOG_FORMAT", default_value_t = Format::Text)]
    log_format: Format,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Sync {
    /// Before each answer.
    Always,
    /// Once a second.
    Everysec,
    /// When the system likes.
    Never,
}

/// An address and its port; `localhost` is the one address of this machine that all systems have.
fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| {
        "expected an address and a port, such as 127.0.0.1:7473 or [::1]:7473".to_owned()
    })
}

/// An origin as browsers write it: scheme, host, and the port where it is not the scheme's own.
fn parse_origin(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(host) if !host.is_empty() && !host.contains(['/', '*', '@', ' ', '?', '#']) => {
            Ok(text.to_ascii_lowercase())
        }
        _ => Err(
            "expected an origin such as https://example.org, without a path or a wildcard"
                .to_owned(),
        ),
    }
}

/// A name or an address, with the port where it is not the scheme's own.
fn parse_host(text: &str) -> Result<String, String> {
    let expected = || "expected a host such as feed.example.org or 192.0.2.7:7473, without a scheme, a path or a wildcard";
    let (name, port) = name_and_port(text);
    if port.is_some_and(|port| !port.parse::<u16>().is_ok_and(|port| port > 0)) {
        return Err(format!("{}; a port is 1 to 65535", expected()));
    }
    let inner = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let fits = match inner {
        Some(address) => address.parse::<Ipv6Addr>().is_ok(),
        None => {
            let fits =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
            !name.trim_end_matches('.').is_empty() && name.bytes().all(fits)
        }
    };
    match fits {
        true => Ok(text.to_ascii_lowercase()),
        false if text.parse::<Ipv6Addr>().is_ok() => Err(format!("expected [{text}]")),
        false => Err(expected().to_owned()),
    }
}

/// The address of the page, as a link begins: scheme, host, and a path where a proxy has it below one. No slash ends it.
fn parse_public_url(text: &str) -> Result<String, String> {
    let expected = || {
        "expected an address such as https://feed.example.org or https://example.org/turnreel"
            .to_owned()
    };
    let (scheme, rest) = text.split_once("://").ok_or_else(expected)?;
    let scheme = scheme.to_ascii_lowercase();
    let (host, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
    let host = parse_host(host)?;
    let fits =
        |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#' | b'"' | b'<' | b'>');
    if !matches!(&*scheme, "http" | "https") || !path.bytes().all(fits) {
        return Err(expected());
    }
    Ok(format!("{scheme}://{host}{}", path.trim_end_matches('/')))
}

/// The host of such an address.
fn host_of(public_url: &str) -> Option<String> {
    let (_, rest) = public_url.split_once("://")?;
    rest.split('/').next().map(str::to_owned)
}

/// Runs the command until the process is told to stop.
pub(crate) fn command(args: Args) -> ExitCode {
    run(args, None)
}

/// The same, and follows what is to be followed.
pub(crate) fn run(args: Args, watch: Option<Watch>) -> ExitCode {
    let level = args.log.parse();
    logging::begin(level.unwrap_or(LevelFilter::INFO), args.log_format);
    panics::tell_places_only();
    // One that is stuck in a disk that hangs leaves another, on the smallest machine as well.
    let n_threads = std::thread::available_parallelism().map_or(2, |n| n.get().max(2));
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(n_threads)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(why) => return fail(&format!("could not start: {why}")),
    };
    let code = match runtime.block_on(serve(args, watch)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => fail(&why),
    };
    // Reads that are stuck in the disk do not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    code
}

fn fail(why: &str) -> ExitCode {
    eprintln!("turnreel: {why}");
    ExitCode::FAILURE
}

async fn serve(args: Args, watch: Option<Watch>) -> Result<(), String> {
    // Asked for before anything is opened: a stop during a long start must be a stop too.
    let mut stop = Box::pin(stop_signal()?);
    let dir = data_dir::resolve(args.data.data)?;
    check_address(args.listen, &dir)?;
    let sync = match args.sync {
        Sync::Always => SyncPolicy::Always,
        Sync::Everysec => SyncPolicy::EverySecond,
        Sync::Never => SyncPolicy::Never,
    };
    // The folder first: of two servers in one folder, the second must hear of the lock and not of the port.
    let opening_dir = dir.clone();
    let options = Options {
        sync,
        segment_bytes: args.segment_mib.saturating_mul(1024 * 1024),
        open_logs: doors::open_logs(),
    };
    let opening = tokio::task::spawn_blocking(move || Store::open(&opening_dir, options));
    let opened = tokio::select! {
        opened = opening => opened.map_err(|why| why.to_string())?,
        () = &mut stop => return Ok(()),
    };
    if let (Err(chat_store::Error::Locked { .. }), Some(watch)) = (&opened, &watch)
        && let Some(server) = data_dir::server_file(&dir)
    {
        let opens = watch.open;
        let leading = tokio::task::spawn_blocking(move || lead_to(&server, &dir, opens));
        return tokio::select! {
            led = leading => led.map_err(|why| why.to_string())?,
            () = &mut stop => Ok(()),
        };
    }
    let store = opened.map_err(|why| data_dir::why_not_opened(&dir, &why))?;
    let listener = match listen(args.listen) {
        // Who asked for no port in particular is served on another.
        Err(why)
            if why.kind() == std::io::ErrorKind::AddrInUse
                && watch.is_some()
                && args.listen == SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)) =>
        {
            tracing::info!("port {DEFAULT_PORT} is in use; taking a free one");
            listen(SocketAddr::from(([127, 0, 0, 1], 0)))
        }
        listening => listening,
    };
    let listener = listener.map_err(|why| cannot_listen(args.listen, &why))?;
    let address = listener
        .local_addr()
        .map_err(|why| format!("could not listen: {why}"))?;
    let token = data_dir::token(&dir)?;
    let token_path = data_dir::token_path(&dir);
    if data_dir::others_can_read(&token_path) {
        tracing::warn!(
            "others on this machine can read {}, which opens everything: `turnreel token rotate` makes another that only its owner can",
            token_path.display()
        );
    }
    let is_new = store.sessions().is_empty() && !store.has_packed() && !examples::were_given(&dir);
    let mut hosts = args.hosts;
    let has_usual_name = address.ip() == Ipv4Addr::LOCALHOST || address.ip() == Ipv6Addr::LOCALHOST;
    if !has_usual_name && !address.ip().is_unspecified() {
        hosts.push(address.to_string());
    }
    hosts.extend(args.copies.host().map(str::to_owned));
    let public = args.public_url.as_deref().and_then(host_of);
    hosts.extend(public.clone());
    if address.ip().is_unspecified() && hosts.is_empty() {
        tracing::warn!(
            "listening on {}, and answering to the names of this machine alone: who comes from elsewhere is refused; say the name or address by which others come with --host",
            address.ip()
        );
    }
    let state = State::answering_to(
        store,
        &token,
        address.port(),
        &args.embed_origins,
        &hosts,
        public.as_deref(),
        args.limits.settings(),
    );
    // Said now, and not when the first one comes whose token is not found.
    let _ = state.access.tokens.are_unreadable();
    // Each would have its own.
    let no_examples = args.no_examples || args.copies.joins();
    if let Some(public_url) = &args.public_url {
        // As below: it is only ever set here.
        let _ = state.public_url.set(public_url.clone());
    }
    if args.mask {
        let _ = state.masking.set(Masking::default());
    }
    args.copies.begin(&state)?;
    removal::go_on(&state);
    let open = watch.as_ref().is_some_and(|watch| watch.open);
    let mut watching = None;
    let mut found = Vec::new();
    if let Some(watch) = watch {
        let (thread, here) = watch.begin(&state, &dir)?;
        (watching, found) = (Some(thread), here);
    }
    // Who has sessions of their own needs no examples.
    if is_new && !no_examples && found.iter().all(|found| found.read == 0) {
        examples::import(&state).await;
    }
    let url = format!("http://{}", from_here(address));
    let mut naming = None;
    if let Err(why) = data_dir::write_server_file(&dir, &url, watching.is_some()) {
        // On a full disk it still gives what there is. The file may say where another server was.
        data_dir::forget_server_file(&dir);
        tracing::error!("agents on this machine do not find the server yet: {why}");
        naming = Some(tokio::spawn(name_later(
            dir.clone(),
            url.clone(),
            watching.is_some(),
        )));
    }
    let report = watching.as_ref().map(|_| watch::report(&found));
    let announced = announce(
        &url,
        args.public_url.as_deref(),
        &token,
        args.ready_json,
        &dir,
        report.as_deref(),
    );
    if let Err(why) = announced {
        if args.ready_json {
            // Who started it waits for this alone.
            data_dir::remove_server_file(&dir);
            return Err(why);
        }
        tracing::error!("{why}");
    }
    if open {
        watch::open_page(&page_at(&url, &token));
    }
    tokio::spawn(assets::warm_up());
    let sending = tokio::spawn(leftovers::take_in(state.clone(), dir.clone()));
    // Nothing is told any more when the logs are closed; how far it was told is noted when they are.
    let halted = Arc::new(Mutex::new(None));
    let halting = halted.clone();
    let stop = async move {
        stop.await;
        // What is taken in later would be told to nobody.
        sending.abort();
        let _ = sending.await;
        let halt = || watching.and_then(Watching::halt);
        *locked(&halting) = tokio::task::spawn_blocking(halt).await.ok().flatten();
    };
    let served = server::run(listener, state, stop).await;
    if let Some(mut follow) = locked(&halted).take() {
        follow.close();
    }
    if let Some(naming) = naming {
        naming.abort();
        // It may be writing on another thread: what is removed below comes after that.
        let _ = naming.await;
    }
    data_dir::remove_server_file(&dir);
    served.map_err(|why| format!("could not serve: {why}"))
}

/// Writes where the server is once the folder takes files again.
async fn name_later(dir: PathBuf, url: String, watches: bool) {
    loop {
        tokio::time::sleep(NAME_EVERY).await;
        // At once, not beside: a server that is stopped leaves none.
        if data_dir::write_server_file(&dir, &url, watches).is_ok() {
            tracing::info!("agents on this machine find the server now");
            return;
        }
    }
}

/// Beyond this machine the start-up token is not enough of a lock: it is printed, it lies in a file that every program of
/// its owner reads, and it opens everything. So those who come must have tokens of their own first.
fn check_address(address: SocketAddr, dir: &Path) -> Result<(), String> {
    if address.ip().is_loopback() || !tokens::list(dir)?.iter().all(Record::is_over) {
        return Ok(());
    }
    Err(format!(
        "could not listen on {}: beyond this machine only with tokens for those who come; make one with `turnreel token create`, or listen on 127.0.0.1",
        address.ip()
    ))
}

/// The address by which this machine reaches a server that listens on `address`. One that listens on all is at none of that
/// name: it would not answer to it, and pipes and hooks would not send there.
fn from_here(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Listens as [`TcpListener::bind`] does, with a longer queue.
fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // What is left of connections of the server before is no reason not to listen. Elsewhere it would share the port.
    #[cfg(unix)]
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(WAITING_CONNECTIONS)
}

fn cannot_listen(address: SocketAddr, why: &std::io::Error) -> String {
    match why.kind() {
        std::io::ErrorKind::AddrInUse => format!(
            "could not listen on {address}: the port is in use; choose another with --listen {}:PORT, or port 0 for any free one",
            address.ip()
        ),
        _ => format!("could not listen on {address}: {why}"),
    }
}

/// Ready when the process is asked to stop. It listens from now on, not from when it is first waited for.
fn stop_signal() -> Result<impl Future<Output = ()> + Send, String> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let listen =
            |kind| signal(kind).map_err(|why| format!("could not listen for signals: {why}"));
        let mut terminate = listen(SignalKind::terminate())?;
        let mut interrupt = listen(SignalKind::interrupt())?;
        let mut hangup = match signals::heeds_hangup() {
            true => Some(listen(SignalKind::hangup())?),
            false => None,
        };
        Ok(async move {
            let closed = async {
                match &mut hangup {
                    Some(hangup) => drop(hangup.recv().await),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
                () = closed => {}
            }
        })
    }
    #[cfg(not(unix))]
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// The folder of events that wait for a server.
pub(crate) fn spool_dir(data: &Path) -> PathBuf {
    data.join("spool")
}
