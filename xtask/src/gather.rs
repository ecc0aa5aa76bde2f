//! Reads the facts: `cargo metadata` for the graph, the work tree for the files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use cargo_metadata::{CargoOpt, DependencyKind, Metadata, MetadataCommand};

use crate::graph::{Dependency, Graph, Kind, Member, Package, TextFile};

/// Hidden directories that belong to the project.
const HIDDEN_DIRS: [&str; 3] = [".cargo", ".ci", ".github"];

/// Files that `.gitignore` keeps out, by how they end.
const LOCAL_FILES: [&str; 4] = [".env", ".sqlite", ".sqlite-wal", ".sqlite-shm"];

/// The facts could not be read.
#[derive(Debug)]
pub struct GatherError {
    what: String,
}

impl fmt::Display for GatherError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for GatherError {}

/// Reads the workspace of a manifest, or of the current directory.
///
/// The graph is resolved with every feature and for every target, so that an optional or
/// target-specific edge counts. Features are those of the whole workspace together: a crate that
/// only a sibling's choice of features pulls in is reported too.
///
/// # Errors
/// When cargo cannot read the workspace or its lock file, or a file cannot be read.
pub fn gather(manifest: Option<&Path>) -> Result<Graph, GatherError> {
    let metadata = metadata(manifest)?;
    let root = metadata.workspace_root.as_std_path();
    let mut files = Vec::new();
    read_tree(root, root, &mut files)
        .map_err(|fault| GatherError { what: format!("cannot read the work tree: {fault}") })?;
    files.sort_by(|a: &TextFile, b| a.path.cmp(&b.path));
    Ok(Graph { members: members(&metadata, &files), packages: packages(&metadata), files })
}

/// Nothing is downloaded if all is here; a fresh clone lacks the manifests of packages that only
/// other targets use, and cargo may fetch those.
fn metadata(manifest: Option<&Path>) -> Result<Metadata, GatherError> {
    let ask = |options: &[&str]| {
        let mut command = MetadataCommand::new();
        if let Some(path) = manifest {
            command.manifest_path(path);
        }
        let options = options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>();
        command.features(CargoOpt::AllFeatures).other_options(options).exec()
    };
    ask(&["--locked", "--offline"])
        .or_else(|_| ask(&["--locked"]))
        .map_err(|fault| GatherError { what: fault.to_string() })
}

fn members(metadata: &Metadata, files: &[TextFile]) -> Vec<Member> {
    let root = metadata.workspace_root.as_std_path();
    let mut members: Vec<_> = metadata
        .workspace_packages()
        .into_iter()
        .map(|package| {
            let path = relative(root, package.manifest_path.as_std_path());
            let text = files.iter().find(|file| file.path == path).map(|file| file.text.clone());
            Member {
                name: package.name.to_string(),
                dir: parent(&path),
                dependencies: package
                    .dependencies
                    .iter()
                    .filter_map(|dependency| {
                        Some(Dependency {
                            package: dependency.name.clone(),
                            rename: dependency.rename.clone(),
                            kind: kind(dependency.kind)?,
                            dir: dependency
                                .path
                                .as_ref()
                                .map(|dir| relative(root, dir.as_std_path())),
                            features: dependency.features.clone(),
                        })
                    })
                    .collect(),
                manifest: text.unwrap_or_default(),
            }
        })
        .collect();
    members.sort_by(|a, b| a.name.cmp(&b.name));
    members
}

fn packages(metadata: &Metadata) -> Vec<Package> {
    let root = metadata.workspace_root.as_std_path();
    let index: HashMap<_, _> =
        metadata.packages.iter().enumerate().map(|(n, package)| (&package.id, n)).collect();
    let mut packages: Vec<_> = metadata
        .packages
        .iter()
        .map(|package| Package {
            name: package.name.to_string(),
            version: package.version.to_string(),
            member_dir: metadata
                .workspace_members
                .contains(&package.id)
                .then(|| parent(&relative(root, package.manifest_path.as_std_path()))),
            uses: Vec::new(),
        })
        .collect();
    for node in metadata.resolve.iter().flat_map(|resolve| &resolve.nodes) {
        let Some(&from) = index.get(&node.id) else {
            continue;
        };
        let ships = |kinds: &[cargo_metadata::DepKindInfo]| {
            kinds.iter().any(|info| matches!(kind(info.kind), Some(Kind::Normal | Kind::Build)))
        };
        packages[from].uses = node
            .deps
            .iter()
            .filter(|edge| ships(&edge.dep_kinds))
            .filter_map(|edge| index.get(&edge.pkg).copied())
            .collect();
    }
    packages
}

fn kind(kind: DependencyKind) -> Option<Kind> {
    match kind {
        DependencyKind::Normal => Some(Kind::Normal),
        DependencyKind::Build => Some(Kind::Build),
        DependencyKind::Development => Some(Kind::Dev),
        _ => None,
    }
}

fn read_tree(root: &Path, dir: &Path, files: &mut Vec<TextFile>) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let (sort, name) = (entry.file_type()?, entry.file_name());
        let name = name.to_string_lossy();
        if sort.is_dir() {
            let hidden = name.starts_with('.') && !HIDDEN_DIRS.contains(&name.as_ref());
            if !hidden && name != "target" {
                read_tree(root, &entry.path(), files)?;
            }
        } else if sort.is_file() && !LOCAL_FILES.iter().any(|end| name.ends_with(end)) {
            match fs::read(entry.path()) {
                Ok(bytes) => files.push(TextFile {
                    path: relative(root, &entry.path()),
                    text: String::from_utf8_lossy(&bytes).into_owned(),
                }),
                // An editor's scratch file may vanish between the listing and the reading.
                Err(fault) if fault.kind() == io::ErrorKind::NotFound => {}
                Err(fault) => return Err(fault),
            }
        }
    }
    Ok(())
}

fn relative(root: &Path, path: &Path) -> String {
    let path: PathBuf = path.strip_prefix(root).unwrap_or(path).into();
    path.to_string_lossy().replace('\\', "/")
}

fn parent(path: &str) -> String {
    path.rsplit_once('/').map_or_else(String::new, |(dir, _)| dir.to_owned())
}
