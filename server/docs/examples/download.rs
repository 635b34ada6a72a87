//! Searches for a title and downloads the first hit:
//! `cargo run --example download blade runner 2049`
//!
//! In a project of its own: `cargo add reqwest serde_json tokio --features tokio/full`.

use std::env;
use std::error::Error;
use std::time::Duration;

use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;

/// The answer to a GET; waits when the rate limit says so.
async fn get(client: &Client, url: &Url) -> Result<Response, Box<dyn Error>> {
    loop {
        let request = client.get(url.clone()).bearer_auth(env::var("SUBCAT_KEY")?);
        let answer = request.send().await?;
        if answer.status() == StatusCode::OK {
            return Ok(answer);
        }
        if answer.status() != StatusCode::TOO_MANY_REQUESTS {
            return Err(format!("{url}: {} {}", answer.status(), answer.text().await?).into());
        }
        let seconds = answer.headers()["Retry-After"].to_str()?.parse()?;
        tokio::time::sleep(Duration::from_secs(seconds)).await;
    }
}

/// The name in `attachment; filename="a.srt"; filename*=…`.
fn name_of(answer: &Response) -> Option<String> {
    let value = answer.headers().get("Content-Disposition")?.to_str().ok()?;
    value.split('"').nth(1).map(str::to_owned)
}

async fn download(words: &str) -> Result<String, Box<dyn Error>> {
    let client = Client::builder().timeout(Duration::from_secs(60)).build()?;
    let base = Url::parse(&env::var("SUBCAT_URL")?)?;
    let mut search = base.join("/api/subtitles/search")?;
    search
        .query_pairs_mut()
        .append_pair("query", words)
        .append_pair("limit", "1");
    let hits: Value = serde_json::from_str(&get(&client, &search).await?.text().await?)?;
    let id = hits["items"][0]["id"].as_str().ok_or("nothing found")?;
    let file = base.join(&format!("/api/subtitles/{id}/download"))?;
    let answer = get(&client, &file).await?;
    let name = name_of(&answer).ok_or("the answer has no file name")?;
    std::fs::write(&name, answer.bytes().await?)?;
    Ok(name)
}

fn main() -> Result<(), Box<dyn Error>> {
    // Only for `reqwest` without its default features, as in this workspace.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let words: Vec<String> = env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    println!("{}", runtime.block_on(download(&words.join(" ")))?);
    Ok(())
}
