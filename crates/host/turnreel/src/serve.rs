//! `turnreel serve`: opens the folder, the token and the address, says where the page is, and serves; with `watch`, beside
//! that agents' sessions are followed.
//!
//! Addresses are read and listened on in `addresses`, `options` makes of the options what is served, and `page` says where
//! the page is.

mod addresses;
mod options;
mod page;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat_capture::Found;
use chat_store::{Options, Store};
use clap::builder::BoolishValueParser;
use tokio::task::JoinHandle;
use tracing::level_filters::LevelFilter;

use crate::cli::DataArg;
use crate::copies::CopyArgs;
use crate::limits::LimitArgs;
use crate::locked::locked;
use crate::logging::{self, Format};
use crate::state::State;
use crate::watch::{self, Watch, Watching};
use crate::{assets, data_dir, examples, leftovers, panics, removal, server, stderr, stopping};
use addresses::{
    check_address, from_here, listen_or_move, parse_address, parse_host, parse_origin,
    parse_public_url,
};
use options::warn_of_readers;
use page::{announce, lead_to, page_at};

/// The port where none is asked for.
const DEFAULT_PORT: u16 = 7473;

/// Where the folder took no file, it is tried again this often.
const NAME_EVERY: Duration = Duration::from_secs(5);

/// What is left to write once all is closed is short.
const MOST_NOTING: Duration = Duration::from_secs(3);

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
    #[arg(long, env = "TURNREEL_NO_EXAMPLES", value_parser = BoolishValueParser::new())]
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
    #[arg(long, env = "TURNREEL_MASK", value_parser = BoolishValueParser::new())]
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
    // What is stuck in the disk does not keep the process.
    runtime.shutdown_timeout(std::time::Duration::from_secs(1));
    code
}

fn fail(why: &str) -> ExitCode {
    stderr::tell(format_args!("turnreel: {why}"));
    ExitCode::FAILURE
}

async fn serve(args: Args, watch: Option<Watch>) -> Result<(), String> {
    // Asked for before anything is opened: a stop during a long start must be a stop too.
    let mut stop = Box::pin(stopping::asked()?);
    let dir = data_dir::resolve(args.data.data.clone())?;
    check_address(args.listen, &dir)?;
    // The folder first: of two servers in one folder, the second must hear of the lock and not of the port.
    let opened = open(&dir, args.store_options(), watch.as_ref(), &mut stop).await?;
    let Some(store) = opened else {
        return Ok(());
    };
    let listener = listen_or_move(args.listen, watch.is_some())?;
    let address = listener
        .local_addr()
        .map_err(|why| format!("could not listen: {why}"))?;
    let token = data_dir::token(&dir)?;
    warn_of_readers(&data_dir::token_path(&dir));
    let is_new = store.sessions().is_empty() && !store.has_packed() && !examples::were_given(&dir);
    let state = args.state(store, &token, address)?;
    removal::go_on(&state);
    let opens = watch.as_ref().is_some_and(|watch| watch.open);
    let mut watching = None;
    let mut found = Vec::new();
    if let Some(watch) = watch {
        match begin_watching(watch, &state, &dir, &mut stop).await {
            Ok(Some((thread, here))) => (watching, found) = (Some(thread), here),
            // What is told from now on is as what is told before a kill.
            ended => {
                stopping::close_logs(&state).await;
                return ended.map(|_| ());
            }
        }
    }
    // Who has sessions of their own needs no examples.
    if is_new && !args.has_no_examples() && found.iter().all(|found| found.read == 0) {
        examples::import(&state).await;
    }
    let url = format!("http://{}", from_here(address));
    let naming = tell_agents(&dir, &url, watching.is_some());
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
            stopping::close_logs(&state).await;
            return Err(why);
        }
        tracing::error!("{why}");
    }
    if opens {
        watch::open_page(&page_at(&url, &token));
    }
    let packing = tokio::spawn(assets::warm_up());
    let sending = tokio::spawn(leftovers::take_in(state.clone(), dir.clone()));
    // Nothing is told any more when the logs are closed; how far it was told is noted when they are.
    let halted = Arc::new(Mutex::new(None));
    let halting = halted.clone();
    let stop = async move {
        stop.await;
        // Nobody asks for the page any more; each file that is left would be an error.
        packing.abort();
        // What is taken in later would be told to nobody.
        sending.abort();
        let _ = sending.await;
        let halt = || watching.and_then(Watching::halt);
        *locked(&halting) = tokio::task::spawn_blocking(halt).await.ok().flatten();
    };
    let served = server::run(listener, state, stop).await;
    let follow = locked(&halted).take();
    if let Some(naming) = naming {
        naming.abort();
        // It may be writing on another thread: what is removed below comes after that.
        let _ = naming.await;
    }
    let leaving = move || {
        if let Some(mut follow) = follow {
            follow.close();
        }
        data_dir::remove_server_file(&dir);
    };
    let what = || "the notes of what was followed".to_owned();
    stopping::off_thread(leaving, MOST_NOTING, &what).await;
    served.map_err(|why| format!("could not serve: {why}"))
}

/// Opens the folder. `None` where the process is to stop, and where who is to watch was led to the server that has it.
async fn open(
    dir: &Path,
    options: Options,
    watch: Option<&Watch>,
    stop: &mut (impl Future<Output = ()> + Unpin),
) -> Result<Option<Store>, String> {
    let of = dir.to_owned();
    let opening = tokio::task::spawn_blocking(move || Store::open(&of, options));
    let opened = tokio::select! {
        opened = opening => opened.map_err(|why| why.to_string())?,
        () = &mut *stop => return Ok(None),
    };
    if let (Err(chat_store::Error::Locked { .. }), Some(watch)) = (&opened, watch)
        && let Some(server) = data_dir::server_file(dir)
    {
        let (opens, of) = (watch.open, dir.to_owned());
        let leading = tokio::task::spawn_blocking(move || lead_to(&server, &of, opens));
        tokio::select! {
            led = leading => led.map_err(|why| why.to_string())??,
            () = stop => {}
        }
        return Ok(None);
    }
    let store = opened.map_err(|why| data_dir::why_not_opened(dir, &why))?;
    Ok(Some(store))
}

/// Follows agents' sessions from now on, and says what there was of them; `None` where the process is to stop.
async fn begin_watching(
    watch: Watch,
    state: &State,
    dir: &Path,
    stop: &mut (impl Future<Output = ()> + Unpin),
) -> Result<Option<(Watching, Vec<Found>)>, String> {
    let (own, data) = (state.clone(), dir.to_owned());
    let looking = tokio::task::spawn_blocking(move || watch.begin(&own, &data));
    tokio::select! {
        begun = looking => begun.map_err(|why| why.to_string()).flatten().map(Some),
        () = stop => Ok(None),
    }
}

/// Writes where the server is, for agents on this machine; where the folder takes no file, as soon as it does.
fn tell_agents(dir: &Path, url: &str, watches: bool) -> Option<JoinHandle<()>> {
    let why = data_dir::write_server_file(dir, url, watches).err()?;
    // On a full disk it still gives what there is. The file may say where another server was.
    data_dir::forget_server_file(dir);
    tracing::error!("agents on this machine do not find the server yet: {why}");
    let naming = name_later(dir.to_owned(), url.to_owned(), watches);
    Some(tokio::spawn(naming))
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

/// The folder of events that wait for a server.
pub(crate) fn spool_dir(data: &Path) -> PathBuf {
    data.join("spool")
}
