//! Directories and files as the current process sees them and as a power cut would leave them.
//!
//! The model is POSIX taken at its word, which is weaker than any journaling file system: file
//! content is durable after a sync of the file, a name after a sync of its directory, and neither
//! implies the other. Until then every change may be kept, dropped, torn at a sector or overtaken
//! by a later one.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Component, Path};

use super::DiskFile;

/// A sector is written whole or not at all.
const SECTOR_BYTES: usize = 512;

/// Index of a directory or file; it stays the same when a name changes.
pub(super) type NodeIdx = usize;

const ROOT: NodeIdx = 0;

/// A name in a directory.
pub(super) type Location = (NodeIdx, String);

enum Node {
    Dir(DirNode),
    File(FileNode),
}

#[derive(Default, Clone)]
struct DirNode {
    /// The names that the process sees.
    current: BTreeMap<String, NodeIdx>,
    /// The names that were there at the last sync of the directory.
    durable: BTreeMap<String, NodeIdx>,
}

#[derive(Default)]
struct FileNode {
    /// Content at the last sync.
    durable: Vec<u8>,
    /// Changes since then, oldest first.
    edits: Vec<Edit>,
    /// The real file, when it is also written through a mapping: such writes are not observed, so
    /// sync and power cut compare with the bytes found there.
    mapped: Option<Box<dyn DiskFile>>,
}

enum Edit {
    Write { offset: usize, bytes: Vec<u8> },
    SetSize(usize),
}

/// A change of names that is not durable yet.
enum NameChange {
    Insert {
        at: Location,
        node: NodeIdx,
    },
    Remove {
        at: Location,
    },
    Rename {
        from: Location,
        to: Location,
        node: NodeIdx,
    },
    Exchange {
        one: Location,
        other: Location,
    },
}

impl NameChange {
    /// True if a sync of `dir` makes the change durable. A rename needs a sync of its target.
    fn is_synced_by(&self, dir: NodeIdx) -> bool {
        match self {
            Self::Insert { at, .. } | Self::Remove { at } => at.0 == dir,
            Self::Rename { to, .. } => to.0 == dir,
            Self::Exchange { one, other } => one.0 == dir || other.0 == dir,
        }
    }
}

/// Repeatable random choices (SplitMix64).
pub(super) struct Choices(u64);

impl Choices {
    /// The choices of a seed.
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// True in `percent` of a hundred cases.
    fn is_chosen(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}

/// Share of the unsynced changes that a power cut keeps.
#[derive(Clone, Copy)]
struct Severity {
    kept_percent: u64,
    torn_percent: u64,
}

impl Severity {
    /// The extremes are frequent: most lost syncs show when nothing, or all but one change, is
    /// lost.
    fn choose(choices: &mut Choices) -> Self {
        let kept_percent = [0, 0, 50, 50, 90, 100][(choices.next() % 6) as usize];
        let torn_percent = if kept_percent == 100 { 0 } else { 30 };
        Self {
            kept_percent,
            torn_percent,
        }
    }
}

/// The files and directories below one root.
pub(super) struct DurableTree {
    nodes: Vec<Node>,
    pending: Vec<NameChange>,
}

impl DurableTree {
    /// Reads a directory; everything in it counts as durable.
    pub(super) fn read(root: &Path) -> io::Result<Self> {
        let mut tree = Self {
            nodes: vec![Node::Dir(DirNode::default())],
            pending: Vec::new(),
        };
        tree.read_dir(root, ROOT)?;
        Ok(tree)
    }

    fn read_dir(&mut self, path: &Path, dir: NodeIdx) -> io::Result<()> {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if entry.file_type()?.is_dir() {
                let child = self.add_dir((dir, name));
                self.read_dir(&entry.path(), child)?;
            } else {
                let durable = fs::read(entry.path())?;
                let node = self.add(Node::File(FileNode {
                    durable,
                    ..FileNode::default()
                }));
                let names = self.dir_mut(dir);
                names.current.insert(name.clone(), node);
                names.durable.insert(name, node);
            }
        }
        Ok(())
    }

    /// Directory and name of a path below the root; `None` when its directory is unknown.
    pub(super) fn locate(&self, below_root: &Path) -> Option<Location> {
        let mut parts = Vec::new();
        for component in below_root.components() {
            let Component::Normal(part) = component else {
                return None;
            };
            parts.push(part.to_string_lossy().into_owned());
        }
        let name = parts.pop()?;
        let mut dir = ROOT;
        for part in parts {
            dir = *self.dir(dir)?.current.get(&part)?;
        }
        self.dir(dir)?;
        Some((dir, name))
    }

    /// The node of a path; the root for an empty one.
    pub(super) fn find(&self, below_root: &Path) -> Option<NodeIdx> {
        if below_root.as_os_str().is_empty() {
            return Some(ROOT);
        }
        let (dir, name) = self.locate(below_root)?;
        self.dir(dir)?.current.get(&name).copied()
    }

    /// Adds a directory that is durable at once; an existing one is left unchanged.
    pub(super) fn add_dir(&mut self, at: Location) -> NodeIdx {
        let (parent, name) = at;
        if let Some(found) = self.dir_mut(parent).current.get(&name) {
            return *found;
        }
        let node = self.add(Node::Dir(DirNode::default()));
        let names = self.dir_mut(parent);
        names.current.insert(name.clone(), node);
        names.durable.insert(name, node);
        node
    }

    /// Creates an empty file, or truncates an existing one.
    pub(super) fn create(&mut self, at: Location) -> NodeIdx {
        let (dir, name) = &at;
        if let Some(found) = self.dir_mut(*dir).current.get(name) {
            let found = *found;
            self.set_size(found, 0);
            return found;
        }
        let node = self.add(Node::File(FileNode::default()));
        self.dir_mut(at.0).current.insert(at.1.clone(), node);
        self.pending.push(NameChange::Insert { at, node });
        node
    }

    /// Gives a file a second name.
    pub(super) fn link(&mut self, node: NodeIdx, at: Location) {
        self.dir_mut(at.0).current.insert(at.1.clone(), node);
        self.pending.push(NameChange::Insert { at, node });
    }

    /// Removes a name: that of a file, or of a directory with all below it.
    pub(super) fn remove(&mut self, at: Location) {
        if self.dir_mut(at.0).current.remove(&at.1).is_some() {
            self.pending.push(NameChange::Remove { at });
        }
    }

    /// Moves a name, replacing the target.
    pub(super) fn rename(&mut self, from: Location, to: Location) {
        let Some(node) = self.dir_mut(from.0).current.remove(&from.1) else {
            return;
        };
        self.dir_mut(to.0).current.insert(to.1.clone(), node);
        self.pending.push(NameChange::Rename { from, to, node });
    }

    /// Exchanges what two names denote.
    pub(super) fn exchange(&mut self, one: Location, other: Location) {
        exchange(&mut self.nodes, &one, &other, |dir| &mut dir.current);
        self.pending.push(NameChange::Exchange { one, other });
    }

    /// Makes the names of a directory durable.
    pub(super) fn sync_dir(&mut self, dir: NodeIdx) {
        let mut rest = Vec::new();
        for change in std::mem::take(&mut self.pending) {
            if change.is_synced_by(dir) {
                apply(&mut self.nodes, &change);
            } else {
                rest.push(change);
            }
        }
        self.pending = rest;
    }

    /// A write that is not durable yet.
    pub(super) fn write(&mut self, file: NodeIdx, offset: u64, bytes: &[u8]) {
        let offset = usize::try_from(offset).expect("simulated files fit into memory");
        let bytes = bytes.to_vec();
        self.file_mut(file)
            .edits
            .push(Edit::Write { offset, bytes });
    }

    /// A change of size that is not durable yet.
    pub(super) fn set_size(&mut self, file: NodeIdx, size_bytes: u64) {
        let size_bytes = usize::try_from(size_bytes).expect("simulated files fit into memory");
        self.file_mut(file).edits.push(Edit::SetSize(size_bytes));
    }

    /// From now on the file may also change through a mapping of `real`.
    pub(super) fn map(&mut self, file: NodeIdx, real: Box<dyn DiskFile>) {
        self.file_mut(file).mapped = Some(real);
    }

    /// Makes the content of a file durable.
    pub(super) fn sync(&mut self, file: NodeIdx) -> io::Result<()> {
        let file = self.file_mut(file);
        for edit in std::mem::take(&mut file.edits) {
            edit.apply(&mut file.durable);
        }
        if let Some(real) = &file.mapped {
            file.durable = read_all(&**real)?;
        }
        Ok(())
    }

    /// Makes all contents and names durable.
    pub(super) fn sync_all(&mut self) -> io::Result<()> {
        for node in 0..self.nodes.len() {
            if matches!(self.nodes[node], Node::File(_)) {
                self.sync(node)?;
            }
        }
        for change in std::mem::take(&mut self.pending) {
            apply(&mut self.nodes, &change);
        }
        Ok(())
    }

    /// Writes what survives a power cut into an empty directory.
    pub(super) fn write_survivors(&self, into: &Path, choices: &mut Choices) -> io::Result<()> {
        let severity = Severity::choose(choices);
        // A journal keeps changes of names in order: some seeds keep a prefix, the others any
        // subset.
        let is_ordered = choices.is_chosen(50);
        let mut dirs = self.dirs();
        for change in &self.pending {
            if choices.is_chosen(severity.kept_percent) {
                apply(&mut dirs, change);
            } else if is_ordered {
                break;
            }
        }
        let mut survivors = Survivors {
            nodes: &self.nodes,
            dirs: &dirs,
            severity,
            choices,
        };
        survivors.write_dir(ROOT, into)
    }

    /// The directories alone, with empty files in place of the others: names are decided before
    /// file content.
    fn dirs(&self) -> Vec<Node> {
        let mut dirs = Vec::with_capacity(self.nodes.len());
        for node in &self.nodes {
            dirs.push(match node {
                Node::Dir(dir) => Node::Dir(dir.clone()),
                Node::File(_) => Node::File(FileNode::default()),
            });
        }
        dirs
    }

    fn add(&mut self, node: Node) -> NodeIdx {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn dir(&self, dir: NodeIdx) -> Option<&DirNode> {
        match &self.nodes[dir] {
            Node::Dir(names) => Some(names),
            Node::File(_) => None,
        }
    }

    fn dir_mut(&mut self, dir: NodeIdx) -> &mut DirNode {
        match &mut self.nodes[dir] {
            Node::Dir(names) => names,
            Node::File(_) => panic!("a location lies in a directory"),
        }
    }

    fn file_mut(&mut self, file: NodeIdx) -> &mut FileNode {
        match &mut self.nodes[file] {
            Node::File(file) => file,
            Node::Dir(_) => panic!("only files have content"),
        }
    }
}

/// State after a power cut, while it is written out.
struct Survivors<'s> {
    nodes: &'s [Node],
    /// Directories; their `durable` names are those that survive.
    dirs: &'s [Node],
    severity: Severity,
    choices: &'s mut Choices,
}

impl Survivors<'_> {
    fn write_dir(&mut self, dir: NodeIdx, into: &Path) -> io::Result<()> {
        fs::create_dir_all(into)?;
        let Node::Dir(names) = &self.dirs[dir] else {
            return Ok(());
        };
        for (name, node) in &names.durable {
            let path = into.join(name);
            match &self.nodes[*node] {
                Node::Dir(_) => self.write_dir(*node, &path)?,
                Node::File(file) => {
                    fs::write(path, file.survivor(self.severity, self.choices)?)?;
                }
            }
        }
        Ok(())
    }
}

impl FileNode {
    /// Content after a power cut.
    fn survivor(&self, severity: Severity, choices: &mut Choices) -> io::Result<Vec<u8>> {
        let mut content = self.durable.clone();
        for edit in &self.edits {
            if choices.is_chosen(severity.kept_percent) {
                edit.apply(&mut content);
            } else if choices.is_chosen(severity.torn_percent) {
                edit.tear(&mut content, choices);
            }
        }
        if let Some(real) = &self.mapped {
            let seen = read_all(&**real)?;
            if seen.len() != content.len() && choices.is_chosen(severity.kept_percent) {
                content.resize(seen.len(), 0);
            }
            let sectors = content.chunks_mut(SECTOR_BYTES);
            for (kept, seen) in sectors.zip(seen.chunks(SECTOR_BYTES)) {
                if kept.len() == seen.len() && choices.is_chosen(severity.kept_percent) {
                    kept.copy_from_slice(seen);
                }
            }
        }
        Ok(content)
    }
}

impl Edit {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => put(content, *offset, bytes),
            Self::SetSize(size_bytes) => content.resize(*size_bytes, 0),
        }
    }

    /// Applies some sectors of a write; a change of size is never half done.
    fn tear(&self, content: &mut Vec<u8>, choices: &mut Choices) {
        let Self::Write { offset, bytes } = self else {
            return;
        };
        let mut from = 0;
        while from < bytes.len() {
            let sector_end = (offset + from) / SECTOR_BYTES * SECTOR_BYTES + SECTOR_BYTES;
            let to = bytes.len().min(sector_end - offset);
            if choices.is_chosen(50) {
                put(content, offset + from, &bytes[from..to]);
            }
            from = to;
        }
    }
}

fn put(content: &mut Vec<u8>, offset: usize, bytes: &[u8]) {
    let end = offset + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content[offset..end].copy_from_slice(bytes);
}

fn read_all(file: &dyn DiskFile) -> io::Result<Vec<u8>> {
    let size_bytes = usize::try_from(file.size_bytes()?).unwrap_or(usize::MAX);
    let mut content = vec![0; size_bytes];
    file.read_at(&mut content, 0)?;
    Ok(content)
}

/// Applies a change to the durable names.
fn apply(nodes: &mut [Node], change: &NameChange) {
    match change {
        NameChange::Insert { at, node } => {
            durable(nodes, at.0).insert(at.1.clone(), *node);
        }
        NameChange::Remove { at } => {
            durable(nodes, at.0).remove(&at.1);
        }
        NameChange::Rename { from, to, node } => {
            // By now the source may have another file, from a change that overtook this one.
            if durable(nodes, from.0).get(&from.1) == Some(node) {
                durable(nodes, from.0).remove(&from.1);
            }
            durable(nodes, to.0).insert(to.1.clone(), *node);
        }
        NameChange::Exchange { one, other } => {
            exchange(nodes, one, other, |dir| &mut dir.durable);
        }
    }
}

fn durable(nodes: &mut [Node], dir: NodeIdx) -> &mut BTreeMap<String, NodeIdx> {
    match &mut nodes[dir] {
        Node::Dir(names) => &mut names.durable,
        Node::File(_) => panic!("a location lies in a directory"),
    }
}

fn exchange(
    nodes: &mut [Node],
    one: &Location,
    other: &Location,
    names: fn(&mut DirNode) -> &mut BTreeMap<String, NodeIdx>,
) {
    let mut take = |at: &Location| match &mut nodes[at.0] {
        Node::Dir(dir) => names(dir).remove(&at.1),
        Node::File(_) => None,
    };
    let (first, second) = (take(one), take(other));
    for (at, node) in [(one, second), (other, first)] {
        if let (Node::Dir(dir), Some(node)) = (&mut nodes[at.0], node) {
            names(dir).insert(at.1.clone(), node);
        }
    }
}
