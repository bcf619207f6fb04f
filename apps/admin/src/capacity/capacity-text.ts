import { type Capacity, capacityOf, type LimitedPart } from './capacity.ts';
import { COSTS, SOURCES } from './costs.ts';
import { LOAD_FLAGS, type Load } from './load.ts';

const PART_NAMES: Readonly<Record<LimitedPart, string>> = {
  'redis-processor': "Redis' core",
  'redis-memory': "Redis' memory",
  recorder: 'the recorder',
  'database-disk': "the database's disk",
};

/** Beyond it a PostgreSQL is advised: docs/operations.md. */
const MAX_SQLITE_RECORDS = 10_000_000;

const ROWS: readonly { readonly name: string; readonly text: (capacity: Capacity) => string }[] = [
  { name: 'requests in flight, connections to providers', text: ({ inFlight }) => count(inFlight) },
  { name: 'edge processes', text: ({ edges }) => count(edges) },
  { name: 'text processes', text: ({ texts }) => count(texts) },
  { name: 'worker processes', text: ({ workers }) => count(workers) },
  { name: 'memory of these processes', text: ({ processBytes }) => bytes(processBytes) },
  { name: 'Redis: operations a second', text: ({ redisOperations }) => count(redisOperations) },
  { name: 'Redis: of its core', text: ({ utilisation }) => percent(utilisation['redis-processor']) },
  { name: 'Redis: memory', text: ({ redisBytes }) => bytes(redisBytes) },
  { name: 'database: records a day', text: ({ recordsPerDay }) => count(recordsPerDay) },
  { name: 'database: records in all', text: ({ records }) => count(records) },
  {
    name: 'database: which',
    text: ({ records }) => (records > MAX_SQLITE_RECORDS ? 'PostgreSQL' : 'SQLite'),
  },
  { name: 'database: disk', text: ({ databaseBytes }) => bytes(databaseBytes) },
  { name: 'database: of the core of the recorder', text: ({ utilisation }) => percent(utilisation.recorder) },
  { name: 'files of results', text: ({ fileBytes }) => bytes(fileBytes) },
  { name: 'network of callers', text: ({ networkBits }) => `${rounded(networkBits / 1e6)} Mbit/s` },
  { name: 'gives way first', text: ({ bottleneck }) => PART_NAMES[bottleneck] },
  { name: 'of which it takes', text: ({ bottleneck, utilisation }) => percent(utilisation[bottleneck]) },
  { name: 'which is full at', text: ({ fullAtRps }) => `${count(fullAtRps)} requests/s` },
];

/** What each of the loads needs. */
export function capacityTable(loads: readonly Load[]): string {
  const capacities = loads.map(capacityOf);
  return markdownTable(
    ['', ...loads.map(({ rps }) => `${count(rps)} requests/s`)],
    ROWS.map(({ name, text }) => [name, ...capacities.map(text)]),
  );
}

/** The figures that it is reckoned with, and where they are from. */
export function costsTable(): string {
  const rows = Object.values(COSTS).map(({ value, unit, of, source }) => [
    of,
    unit === 'µs' ? `${value} µs` : bytes(value),
    source,
  ]);
  const sources = Object.entries(SOURCES).map(([letter, text]) => `- ${letter}: ${text}`);
  return `${markdownTable(['what', 'costs', 'source'], rows)}\n\n${sources.join('\n')}`;
}

/** A table of Markdown, which can be read in a terminal too. */
function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows];
  const widths = head.map((_, at) => Math.max(3, ...cells.map((row) => row[at]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const rule = `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`;
  return [line(head), rule, ...cells.slice(1).map(line)].join('\n');
}

/** For programs: the numbers themselves. */
export const capacityJson = (loads: readonly Load[]): string => {
  const found = loads.map((load) => ({ load, capacity: capacityOf(load) }));
  return JSON.stringify(found.length === 1 ? found[0] : found, null, 2);
};

const FLAG_COLUMNS = 24;
export const CAPACITY_USAGE = `Usage: npm run gateway -- capacity --rps NUMBER [OPTIONS]

Says what a load needs, by the figures in docs/scale.md, and what of it gives way first. It asks no service.

${Object.entries(LOAD_FLAGS)
  .map(([name, { meaning, fallback }]) => {
    const flag = `  --${name} NUMBER`;
    return `${flag.padEnd(FLAG_COLUMNS)}${meaning}${fallback === null ? '' : ` (${fallback})`}`;
  })
  .join('\n')}

  --table                 the table for 10, 100, 1,000 and 10,000 requests a second, instead of --rps
  --costs                 the figures that it is reckoned with
  --json                  print JSON instead of text
  --help                  print this`;

const percent = (share: number): string => `${rounded(share * 100)} %`;

/** Three digits that count. */
function rounded(value: number): string {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return grouped(Number(value.toPrecision(3)), digits);
}

const count = (value: number): string => grouped(Number(value.toPrecision(3)), value >= 100 ? 0 : 1);

const grouped = (value: number, digits: number): string =>
  value.toLocaleString('en-US', { maximumFractionDigits: digits });

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB', 'PB'];
function bytes(value: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(value, 1)) / 3));
  return `${rounded(value / 1000 ** power)} ${UNITS[power]}`;
}
