//! The facts a check looks at, as plain data: tests build them by hand.

/// Everything the rules are checked against. Paths are relative to the workspace root and use `/`.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// The workspace members with what they declare.
    pub members: Vec<Member>,
    /// The resolved graph, members included, with normal and build edges only.
    pub packages: Vec<Package>,
    /// Every text file of the work tree.
    pub files: Vec<TextFile>,
}

/// One member of the workspace.
#[derive(Debug, Clone)]
pub struct Member {
    /// The package name.
    pub name: String,
    /// The directory of its manifest.
    pub dir: String,
    /// What it declares, optional, renamed and target-specific dependencies included.
    pub dependencies: Vec<Dependency>,
    /// The text of its `Cargo.toml`.
    pub manifest: String,
}

/// One declared dependency.
#[derive(Debug, Clone)]
pub struct Dependency {
    /// The name of the package depended on, whatever it is called in the source.
    pub package: String,
    /// The name it is renamed to, if it is.
    pub rename: Option<String>,
    /// In which table it stands.
    pub kind: Kind,
    /// The directory a path dependency points to; absolute if outside the workspace.
    pub dir: Option<String>,
    /// Features asked for, those of the workspace table included.
    pub features: Vec<String>,
}

/// The table a dependency stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `[dependencies]`
    Normal,
    /// `[build-dependencies]`
    Build,
    /// `[dev-dependencies]`
    Dev,
}

impl Kind {
    /// The word used in messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Build => "build",
            Self::Dev => "dev",
        }
    }
}

/// One package of the resolved graph.
#[derive(Debug, Clone)]
pub struct Package {
    /// The package name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The directory, for a member of the workspace.
    pub member_dir: Option<String>,
    /// Indices into [`Graph::packages`] of what it uses by a normal or build edge.
    pub uses: Vec<usize>,
}

/// One file of the work tree.
#[derive(Debug, Clone)]
pub struct TextFile {
    /// Its path.
    pub path: String,
    /// Its text; bytes that are not UTF-8 are replaced.
    pub text: String,
}

impl TextFile {
    /// Whether it is Rust source.
    #[must_use]
    pub fn is_rust(&self) -> bool {
        std::path::Path::new(&self.path).extension().is_some_and(|end| end == "rs")
    }
}

impl Graph {
    /// The member whose manifest lies in this directory.
    #[must_use]
    pub fn member_at(&self, dir: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.dir == dir)
    }

    /// The member a file belongs to: the one with the longest directory above it.
    #[must_use]
    pub fn owner_of(&self, path: &str) -> Option<&Member> {
        self.members
            .iter()
            .filter(|member| is_under(path, &member.dir))
            .max_by_key(|member| member.dir.len())
    }
}

/// Whether a path lies in a directory, by whole components.
pub(crate) fn is_under(path: &str, dir: &str) -> bool {
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'))
}
