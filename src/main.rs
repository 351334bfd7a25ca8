//! The program of the page: in a browser it starts; on its own it says how it is built.

#[cfg(target_arch = "wasm32")]
fn main() {
    agent_feed::start();
}

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    eprintln!("agent-feed is a page: build and serve it with `cargo xtask start`");
    std::process::exit(2);
}
