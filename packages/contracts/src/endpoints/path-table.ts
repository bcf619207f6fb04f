import type { Endpoint } from './endpoints.ts';

/** One path of the public API with its methods. */
export interface PathRow {
  /** `/v1/responses/{id}`: its name in logs and metrics. */
  readonly path: string;
  readonly endpoints: ReadonlyMap<string, Endpoint>;
  /** The allowed methods, in the form of the `Allow` header. */
  readonly allow: string;
}

/**
 * Finds the row of a request's path, which is without its query string. Paths without `{id}` need only one lookup. A pattern with
 * `{model}:verb` at its end is found by the verb; the model may have several segments, and colons too.
 */
export function createPathTable(endpoints: readonly Endpoint[]): (path: string) => PathRow | undefined {
  const rows = [...Map.groupBy(endpoints, ({ path }) => path)].map(([path, all]) => rowOf(path, all));
  const fixed = new Map(rows.filter(({ path }) => !path.includes('{')).map((row) => [row.path, row]));
  const patterns = rows
    .filter(({ path }) => path.includes('{') && !path.includes(VERB))
    .map((row) => ({ row, segments: row.path.split('/') }));
  const verbs = Map.groupBy(
    rows.filter(({ path }) => path.includes(VERB)),
    ({ path }) => verbOf(path),
  );
  const findVerb = (path: string): PathRow | undefined => {
    const verb = verbOf(path);
    if (verb === undefined) return undefined;
    return verbs.get(verb)?.find((row) => isCallOf(row.path, path));
  };
  return (path) => fixed.get(path) ?? findVerb(path) ?? findPattern(patterns, path);
}

function rowOf(path: string, endpoints: readonly Endpoint[]): PathRow {
  const byMethod = new Map<string, Endpoint>(endpoints.map((endpoint) => [endpoint.method, endpoint]));
  const get = byMethod.get('GET');
  if (get !== undefined) byMethod.set('HEAD', get);
  return { path, endpoints: byMethod, allow: [...byMethod.keys(), 'OPTIONS'].join(', ') };
}

interface Pattern {
  readonly row: PathRow;
  readonly segments: readonly string[];
}

function findPattern(patterns: readonly Pattern[], path: string): PathRow | undefined {
  const found = path.split('/');
  return patterns.find(
    ({ segments }) =>
      segments.length === found.length &&
      segments.every((segment, at) =>
        segment.startsWith('{') ? isName(found[at] ?? '') : segment === found[at],
      ),
  )?.row;
}

/** How a pattern goes on after a `{…}` that is followed by a verb. */
const VERB = '}:';

/** What follows the last colon of a path; undefined where there is none. */
function verbOf(path: string): string | undefined {
  const colon = path.lastIndexOf(':');
  return colon < 0 ? undefined : path.slice(colon + 1);
}

/** The model of a path that matches such a pattern, as it was written. */
const calledIn = (pattern: string, path: string): string =>
  path.slice(pattern.indexOf('{'), path.lastIndexOf(':'));

const isCallOf = (pattern: string, path: string): boolean =>
  path.startsWith(pattern.slice(0, pattern.indexOf('{'))) && calledIn(pattern, path).split('/').every(isName);

/** `.` and `..` are not ids; a server after the gateway could resolve them into another path. */
const isName = (segment: string): boolean => segment !== '' && !/^(\.|%2e){1,2}$/i.test(segment);

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** The unescaped values of the `{…}` of an endpoint's path, from a request's path that matches it. */
export function paramsOf(
  { path: pattern }: Pick<Endpoint, 'path'>,
  path: string,
): Readonly<Record<string, string>> {
  if (!pattern.includes('{')) return NO_PARAMS;
  if (pattern.includes(VERB))
    return {
      [pattern.slice(pattern.indexOf('{') + 1, pattern.indexOf(VERB))]: decoded(calledIn(pattern, path)),
    };
  const found = path.split('/');
  const params: Record<string, string> = {};
  for (const [at, segment] of pattern.split('/').entries())
    if (segment.startsWith('{')) params[segment.slice(1, -1)] = decoded(found[at] ?? '');
  return params;
}

const decoded = decodeURIComponent;

/** A request's path: its target without the query string. */
export function pathOf(url: string): string {
  const query = url.indexOf('?');
  return query === -1 ? url : url.slice(0, query);
}
