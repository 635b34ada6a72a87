//! Measures the import of a folder: `folder --program PATH [--files N]`.
//!
//! A tree of films and episodes is made, in the forms in which people name them, and imported three
//! times: all is new, nothing has changed, one file in a hundred has. The records are compared with
//! what the tree means.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::Value;
use subcat_bench::arguments::exit_code;
use subcat_bench::error::{BenchError, Result};
use subcat_engine::hash_of;
use subcat_server::command::demo::CATALOG;

/// Interval of looks at the memory of the import.
const LOOK: Duration = Duration::from_millis(5);

/// Imports a folder of files that are made for it: time, memory, and fields that are read right.
#[derive(Parser)]
struct Arguments {
    /// The program `subcat`.
    #[arg(long)]
    program: PathBuf,
    /// Files of the tree.
    #[arg(long, default_value_t = 10_000)]
    files: usize,
}

/// A file of the tree, and the record that it means.
struct MadeFile {
    form: &'static str,
    path: String,
    content: String,
    fields: [(&'static str, Value); 5],
}

fn main() -> ExitCode {
    exit_code("folder", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<()> {
    let dir = tempfile::tempdir().map_err(BenchError::on("make a folder"))?;
    let (media, data) = (dir.path().join("media"), dir.path().join("data"));
    let titles = titles()?;
    let files: Vec<MadeFile> = (0..arguments.files)
        .map(|number| made_file(number, &titles[number % titles.len()]))
        .collect();
    for file in &files {
        write(&media, file)?;
    }
    println!(
        "{:<12} {:>10} {:>10} {:>10}",
        "import", "seconds", "files/s", "MiB"
    );
    import("new", arguments, &media, &data)?;
    import("unchanged", arguments, &media, &data)?;
    for file in files.iter().step_by(100) {
        let path = media.join(&file.path);
        let longer = format!("{}\n", file.content);
        fs::write(path, longer).map_err(BenchError::on("change a file"))?;
    }
    import("1% changed", arguments, &media, &data)?;
    println!();
    compare(arguments, &data, &files)
}

/// Titles and years of the demo's films.
fn titles() -> Result<Vec<(String, u64)>> {
    let mut titles = Vec::new();
    for line in CATALOG.lines() {
        let record: Value = serde_json::from_str(line).map_err(BenchError::on("read a record"))?;
        let title = record["title"].as_str().unwrap_or_default();
        let is_plain = title.chars().all(|c| c.is_ascii_alphabetic() || c == ' ');
        if let (true, Some(year)) = (is_plain && !title.is_empty(), record["year"].as_u64()) {
            titles.push((title.to_owned(), year));
        }
    }
    titles.sort_unstable();
    titles.dedup();
    Ok(titles)
}

fn made_file(number: usize, (title, year): &(String, u64)) -> MadeFile {
    let (season, episode) = (1 + number / 7 % 9, 1 + number / 63 % 24);
    let dots = title.replace(' ', ".");
    let group = number / 6;
    let of_film = || [Value::Null, Value::Null, (*year).into()];
    let of_episode = || [season.into(), episode.into(), Value::Null];
    let (form, path, [season, episode, year], language) = match number % 6 {
        0 => (
            "film in its folder",
            format!("Movies/{group}/{title} ({year})/{title} ({year}).en.srt"),
            of_film(),
            "en",
        ),
        1 => (
            "film as a release",
            format!("hoard/{group}/{dots}.{year}.1080p.BluRay.x264-ABC.srt"),
            of_film(),
            "es",
        ),
        2 => (
            "film, folder Subs",
            format!("Movies/{group}/{dots}.{year}.720p-ABC/Subs/2_Spanish.srt"),
            of_film(),
            "es",
        ),
        3 => (
            "episode in its folder",
            format!(
                "TV/{title}/Season {season}/{group}/{title} - S{season:02}E{episode:02}.es.srt"
            ),
            of_episode(),
            "es",
        ),
        4 => (
            "episode as a release",
            format!("hoard/{group}/{dots}.S{season:02}E{episode:02}.720p.HDTV-ABC.en.srt"),
            of_episode(),
            "en",
        ),
        _ => (
            "number in a season",
            format!("TV/{group}/{title}/Season {season}/{episode:02}.es.srt"),
            of_episode(),
            "es",
        ),
    };
    MadeFile {
        form,
        path,
        content: format!(
            "1\n00:00:01,000 --> 00:00:02,000\n{number}\n{}\n",
            "Hola. ".repeat(700)
        ),
        fields: [
            ("title", title.clone().into()),
            ("season", season),
            ("episode", episode),
            ("year", year),
            ("language", language.into()),
        ],
    }
}

fn write(media: &Path, file: &MadeFile) -> Result<()> {
    let path = media.join(&file.path);
    let folder = path.parent().unwrap_or(media);
    fs::create_dir_all(folder).map_err(BenchError::on("make a folder"))?;
    fs::write(&path, &file.content).map_err(BenchError::on("write a file"))
}

/// Imports the tree and prints time and memory.
fn import(name: &str, arguments: &Arguments, media: &Path, data: &Path) -> Result<()> {
    let started = Instant::now();
    let mut child = Command::new(&arguments.program)
        .args(["import", "--json", "--data"])
        .args([data, media])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(BenchError::on("start the import"))?;
    let mut peak_kib = 0;
    while child
        .try_wait()
        .map_err(BenchError::on("wait for the import"))?
        .is_none()
    {
        peak_kib = own_kib(child.id()).max(peak_kib);
        thread::sleep(LOOK);
    }
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "{name:<12} {seconds:>10.2} {:>10.0} {:>10.1}",
        arguments.files as f64 / seconds,
        peak_kib as f64 / 1024.0
    );
    Ok(())
}

/// Resident memory of a process that no file backs.
fn own_kib(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"));
    let kib = line.and_then(|line| line.split_whitespace().next());
    kib.and_then(|kib| kib.parse().ok()).unwrap_or(0)
}

/// Prints how many files of each form have a record whose fields are all right, one with a wrong
/// field, or none. Files that were changed are left out.
fn compare(arguments: &Arguments, data: &Path, files: &[MadeFile]) -> Result<()> {
    let exported = Command::new(&arguments.program)
        .args(["export", "--data"])
        .arg(data)
        .output()
        .map_err(BenchError::on("start the export"))?;
    let mut records = HashMap::new();
    for line in String::from_utf8_lossy(&exported.stdout).lines() {
        let record: Value = serde_json::from_str(line).map_err(BenchError::on("read a record"))?;
        let release = record["source_release_id"].as_str().unwrap_or_default();
        records.insert(release.to_owned(), record);
    }
    let mut counts: Vec<(&str, [u64; 3])> = Vec::new();
    for (number, file) in files.iter().enumerate() {
        if number % 100 == 0 {
            continue;
        }
        let hash = hash_of(file.content.as_bytes()).to_string();
        let outcome = match records.get(&format!("f{}", &hash[..32])) {
            None => 2,
            Some(record) => {
                let is_right = |(field, value): &(&str, Value)| {
                    record.get(*field).unwrap_or(&Value::Null) == value
                };
                usize::from(!file.fields.iter().all(is_right))
            }
        };
        let idx = counts.iter().position(|(form, _)| *form == file.form);
        let idx = idx.unwrap_or_else(|| {
            counts.push((file.form, [0; 3]));
            counts.len() - 1
        });
        counts[idx].1[outcome] += 1;
    }
    println!(
        "{:<24} {:>8} {:>8} {:>8}",
        "form", "right", "wrong", "refused"
    );
    for (form, [right, wrong, refused]) in counts {
        println!("{form:<24} {right:>8} {wrong:>8} {refused:>8}");
    }
    Ok(())
}
