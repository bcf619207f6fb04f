import type { Candidate } from '../candidate.ts';
import type { UpstreamRequest } from './upstream-request.ts';

/** A path that a request completes: `{model}` is its candidate's model, and streams may have a path of their own. */
export interface RequestPath {
  readonly whole: string;
  readonly streamed: string;
}

/** The path of an operation, where most are one text. */
export type OperationPath = string | RequestPath;

const MODEL = '{model}';

/** Of a preset's path whose other placeholders are filled. */
export function operationPath(basePath: string, path: OperationPath): OperationPath {
  if (typeof path !== 'string') return { whole: basePath + path.whole, streamed: basePath + path.streamed };
  const joined = basePath + path;
  return path.includes(MODEL) ? { whole: joined, streamed: joined } : joined;
}

/** @param streamed whether the request asks for a stream, where it does not say so itself */
export function requestPath(
  { channel, model }: Pick<Candidate, 'channel' | 'model'>,
  request: Pick<UpstreamRequest, 'operation' | 'subpath' | 'query' | 'streamed'>,
  streamed: boolean,
): string {
  const { operation, subpath = '', query } = request;
  const found = channel.paths[operation];
  if (found === undefined) throw new Error(`channel ${channel.name} has no path for ${operation}`);
  const path = typeof found === 'string' ? found : completed(found, model, request.streamed ?? streamed);
  if (!query) return path + subpath;
  return `${path}${subpath}${path.includes('?') ? '&' : '?'}${query}`;
}

const completed = ({ whole, streamed }: RequestPath, model: string, isStreamed: boolean): string =>
  (isStreamed ? streamed : whole).replace(MODEL, () => modelSegment(model));

/**
 * One segment of a path. Clouds expect `:` and `/` of an ARN percent-encoded; `@` before a version is written as it is. Half of a
 * surrogate pair, which a caller may send where names are passed on, cannot be encoded: the provider gets U+FFFD, and knows no such model.
 */
const modelSegment = (model: string): string =>
  encodeURIComponent(model.toWellFormed())
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%40', '@');
