//! `turnreel serve`: opens the folder, the token and the address, says where the page is, and serves.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use chat_store::{Options, Store, SyncPolicy};
use tokio::net::TcpListener;

use crate::cli::DataArg;
use crate::state::{Settings, State};
use crate::{assets, data_dir, examples, leftovers, server};

/// The port where none is asked for.
const DEFAULT_PORT: u16 = 7473;

/// What `turnreel serve` is told.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Listen on this address; port 0 takes a free one. Only addresses of this machine itself are taken.
    #[arg(long, value_name = "ADDR:PORT", default_value_t = SocketAddr::from(([127, 0, 0, 1], DEFAULT_PORT)))]
    listen: SocketAddr,

    #[command(flatten)]
    data: DataArg,

    /// Print one line {"url","token"} once it listens, for scripts.
    #[arg(long)]
    ready_json: bool,

    /// Begin an empty data folder without the example sessions.
    #[arg(long)]
    no_examples: bool,

    /// When events are made to survive a power failure; they survive a crash of the server in any case.
    #[arg(long, value_enum, default_value_t = Sync::Everysec)]
    sync: Sync,

    /// Let pages of this origin read and send, with the token; may be given more than once.
    #[arg(long = "embed-origin", value_name = "ORIGIN", value_parser = parse_origin)]
    embed_origins: Vec<String>,

    /// How much to say on stderr.
    #[arg(long, value_name = "LEVEL", default_value = "info", value_parser = ["off", "error", "warn", "info", "debug", "trace"])]
    log: String,
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

/// Runs the command until the process is told to stop.
pub(crate) fn command(args: Args) -> ExitCode {
    let level: tracing::level_filters::LevelFilter = args
        .log
        .parse()
        .unwrap_or(tracing::level_filters::LevelFilter::INFO);
    let logging = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .with_target(false)
        .try_init();
    if let Err(why) = logging {
        eprintln!("turnreel: could not log: {why}");
    }
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(why) => return fail(&format!("could not start: {why}")),
    };
    let code = match runtime.block_on(serve(args)) {
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

async fn serve(args: Args) -> Result<(), String> {
    let ip = args.listen.ip();
    if !ip.is_loopback() {
        return Err(format!(
            "could not listen on {ip}: only addresses of this machine itself are taken (127.0.0.1, [::1])"
        ));
    }
    // Asked for before anything is opened: a stop during a long start must be a stop too.
    let stop = stop_signal()?;
    let dir = data_dir::resolve(args.data.data)?;
    let sync = match args.sync {
        Sync::Always => SyncPolicy::Always,
        Sync::Everysec => SyncPolicy::EverySecond,
        Sync::Never => SyncPolicy::Never,
    };
    // The folder first: of two servers in one folder, the second must hear of the lock and not of the port.
    let opening_dir = dir.clone();
    let store = tokio::task::spawn_blocking(move || Store::open(&opening_dir, Options { sync }))
        .await
        .map_err(|why| why.to_string())?
        .map_err(|why| why.to_string())?;
    let listener = TcpListener::bind(args.listen)
        .await
        .map_err(|why| cannot_listen(args.listen, &why))?;
    let address = listener
        .local_addr()
        .map_err(|why| format!("could not listen: {why}"))?;
    let token = data_dir::token(&dir)?;
    let is_new = store.sessions().is_empty();
    let state = State::new(
        store,
        &token,
        address.port(),
        &args.embed_origins,
        Settings::default(),
    );
    if is_new && !args.no_examples {
        examples::import(&state).await;
    }
    let url = format!("http://{address}");
    data_dir::write_server_file(&dir, &url)?;
    announce(&url, &token, args.ready_json, &dir)?;
    tokio::task::spawn_blocking(assets::warm_up);
    let sending = tokio::spawn(leftovers::take_in(state.clone(), dir.clone()));
    let served = server::run(listener, state, stop).await;
    sending.abort();
    data_dir::remove_server_file(&dir);
    served.map_err(|why| format!("could not serve: {why}"))
}

fn announce(url: &str, token: &str, ready_json: bool, dir: &Path) -> Result<(), String> {
    let mut stdout = std::io::stdout().lock();
    let printed = if ready_json {
        writeln!(
            stdout,
            "{}",
            serde_json::json!({"url": url, "token": token})
        )
    } else {
        writeln!(
            stdout,
            "turnreel is serving {}\n\n  {url}/#token={token}\n\nPress ctrl-c to stop.",
            dir.display()
        )
    };
    printed
        .and_then(|()| stdout.flush())
        .map_err(|why| format!("could not print the address: {why}"))
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
        Ok(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
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
