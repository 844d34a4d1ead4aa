package ddl

// ShowKind says what a Show shows.
type ShowKind string

// The kinds of SHOW. Their texts are the words of the statement, for logs.
const (
	ShowDatabases       ShowKind = "DATABASES"
	ShowCatalogs        ShowKind = "CATALOGS"
	ShowTables          ShowKind = "TABLES"
	ShowOpenTables      ShowKind = "OPEN TABLES"
	ShowViews           ShowKind = "VIEWS"
	ShowTableStatus     ShowKind = "TABLE STATUS"
	ShowColumns         ShowKind = "COLUMNS"
	ShowIndex           ShowKind = "INDEX"
	ShowCreateTable     ShowKind = "CREATE TABLE"
	ShowCreateDatabase  ShowKind = "CREATE DATABASE"
	ShowCreateUser      ShowKind = "CREATE USER"
	ShowVariables       ShowKind = "VARIABLES"
	ShowStatus          ShowKind = "STATUS"
	ShowWarnings        ShowKind = "WARNINGS"
	ShowWarningCount    ShowKind = "COUNT(*) WARNINGS"
	ShowErrors          ShowKind = "ERRORS"
	ShowErrorCount      ShowKind = "COUNT(*) ERRORS"
	ShowEngines         ShowKind = "ENGINES"
	ShowCollation       ShowKind = "COLLATION"
	ShowCharset         ShowKind = "CHARSET"
	ShowProcesslist     ShowKind = "PROCESSLIST"
	ShowBackends        ShowKind = "BACKENDS"
	ShowFrontends       ShowKind = "FRONTENDS"
	ShowFrontendsDisks  ShowKind = "FRONTENDS DISKS"
	ShowFrontendConfig  ShowKind = "FRONTEND CONFIG"
	ShowBackendConfig   ShowKind = "BACKEND CONFIG"
	ShowPartitions      ShowKind = "PARTITIONS"
	ShowTablets         ShowKind = "TABLETS"
	ShowTablet          ShowKind = "TABLET"
	ShowReplicaStatus   ShowKind = "REPLICA STATUS"
	ShowReplicaSpread   ShowKind = "REPLICA DISTRIBUTION"
	ShowTransaction     ShowKind = "TRANSACTION"
	ShowLastInsert      ShowKind = "LAST INSERT"
	ShowGrants          ShowKind = "GRANTS"
	ShowAllGrants       ShowKind = "ALL GRANTS"
	ShowRoles           ShowKind = "ROLES"
	ShowPrivileges      ShowKind = "PRIVILEGES"
	ShowPlugins         ShowKind = "PLUGINS"
	ShowTriggers        ShowKind = "TRIGGERS"
	ShowEvents          ShowKind = "EVENTS"
	ShowProcedureStatus ShowKind = "PROCEDURE STATUS"
	ShowFunctionStatus  ShowKind = "FUNCTION STATUS"
	ShowData            ShowKind = "DATA"
	ShowProc            ShowKind = "PROC"
	ShowLoad            ShowKind = "LOAD"
	ShowStreamLoad      ShowKind = "STREAM LOAD"
	ShowAlterColumn     ShowKind = "ALTER TABLE COLUMN"
	ShowAlterRollup     ShowKind = "ALTER TABLE ROLLUP"
)

// showObject says what may follow the words of a form.
type showObject uint8

const (
	onNothing     showObject = iota
	onDatabase               // [FROM|IN db]
	onTable                  // FROM|IN table [FROM|IN db]
	onMaybeTable             // [FROM|IN table [FROM|IN db]]
	onPartitions             // FROM|IN table [PARTITION[S] (p, ...)]
	namedTable               // table
	namedDatabase            // db
	namedID                  // number or 'host:port'
	namedPath                // 'path'
	forUser                  // [FOR user]
)

// showForm is one form of SHOW; LIKE, WHERE, ORDER BY and LIMIT may follow any.
type showForm struct {
	words  []string
	kind   ShowKind
	object showObject
	// full allows FULL, scope GLOBAL and SESSION before the words.
	full, scope bool
}

func form(kind ShowKind, object showObject, words ...string) showForm {
	return showForm{words: words, kind: kind, object: object}
}

func fullForm(kind ShowKind, object showObject, words ...string) showForm {
	return showForm{words: words, kind: kind, object: object, full: true}
}

func scopedForm(kind ShowKind, words ...string) showForm {
	return showForm{words: words, kind: kind, scope: true}
}

// showForms are tried in order: what starts like another one stands first.
var showForms = []showForm{
	form(ShowDatabases, onNothing, "DATABASES"),
	form(ShowDatabases, onNothing, "SCHEMAS"),
	form(ShowCatalogs, onNothing, "CATALOGS"),
	fullForm(ShowTables, onDatabase, "TABLES"),
	form(ShowOpenTables, onDatabase, "OPEN", "TABLES"),
	fullForm(ShowViews, onDatabase, "VIEWS"),
	form(ShowTableStatus, onDatabase, "TABLE", "STATUS"),
	fullForm(ShowColumns, onTable, "COLUMNS"),
	fullForm(ShowColumns, onTable, "FIELDS"),
	form(ShowIndex, onTable, "INDEX"),
	form(ShowIndex, onTable, "INDEXES"),
	form(ShowIndex, onTable, "KEY"),
	form(ShowIndex, onTable, "KEYS"),
	form(ShowCreateTable, namedTable, "CREATE", "TABLE"),
	form(ShowCreateDatabase, namedDatabase, "CREATE", "DATABASE"),
	form(ShowCreateDatabase, namedDatabase, "CREATE", "SCHEMA"),
	form(ShowCreateUser, forUser, "CREATE", "USER"),
	scopedForm(ShowVariables, "VARIABLES"),
	scopedForm(ShowStatus, "STATUS"),
	form(ShowWarnings, onNothing, "WARNINGS"),
	form(ShowWarningCount, onNothing, "COUNT"),
	form(ShowErrors, onNothing, "ERRORS"),
	form(ShowErrorCount, onNothing, "COUNT"),
	form(ShowEngines, onNothing, "STORAGE", "ENGINES"),
	form(ShowEngines, onNothing, "ENGINES"),
	form(ShowCollation, onNothing, "COLLATION"),
	form(ShowCharset, onNothing, "CHARSET"),
	form(ShowCharset, onNothing, "CHARACTER", "SET"),
	form(ShowCharset, onNothing, "CHAR", "SET"),
	fullForm(ShowProcesslist, onNothing, "PROCESSLIST"),
	form(ShowBackends, onNothing, "BACKENDS"),
	form(ShowBackendConfig, onNothing, "BACKEND", "CONFIG"),
	form(ShowFrontendsDisks, onNothing, "FRONTENDS", "DISKS"),
	form(ShowFrontends, onNothing, "FRONTENDS"),
	form(ShowFrontendConfig, onNothing, "FRONTEND", "CONFIG"),
	form(ShowFrontendConfig, onNothing, "FRONTEND", "CONFIGS"),
	form(ShowPartitions, onTable, "PARTITIONS"),
	form(ShowTablets, onPartitions, "TABLETS"),
	form(ShowTablet, namedID, "TABLET"),
	form(ShowReplicaStatus, onPartitions, "REPLICA", "STATUS"),
	form(ShowReplicaSpread, onPartitions, "REPLICA", "DISTRIBUTION"),
	form(ShowTransaction, onDatabase, "TRANSACTION"),
	form(ShowLastInsert, onNothing, "LAST", "INSERT"),
	form(ShowAllGrants, onNothing, "ALL", "GRANTS"),
	form(ShowGrants, forUser, "GRANTS"),
	form(ShowRoles, onNothing, "ROLES"),
	form(ShowPrivileges, onNothing, "PRIVILEGES"),
	form(ShowPlugins, onNothing, "PLUGINS"),
	fullForm(ShowTriggers, onDatabase, "TRIGGERS"),
	form(ShowEvents, onDatabase, "EVENTS"),
	form(ShowProcedureStatus, onNothing, "PROCEDURE", "STATUS"),
	form(ShowFunctionStatus, onNothing, "FUNCTION", "STATUS"),
	form(ShowData, onMaybeTable, "DATA"),
	form(ShowProc, namedPath, "PROC"),
	form(ShowLoad, onDatabase, "LOAD"),
	form(ShowStreamLoad, onDatabase, "STREAM", "LOAD"),
	form(ShowAlterColumn, onDatabase, "ALTER", "TABLE", "COLUMN"),
	form(ShowAlterRollup, onDatabase, "ALTER", "TABLE", "ROLLUP"),
	form(ShowAlterRollup, onDatabase, "ALTER", "TABLE", "MATERIALIZED", "VIEW"),
}
