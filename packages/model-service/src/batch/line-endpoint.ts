import { BatchLine } from '@gateway/contracts/batch';
import { GatewayError } from '@gateway/contracts/gateway-error';
import type { EndpointScope, Identity } from '@gateway/contracts/identity';
import type { JobKind } from '@gateway/contracts/jobs';
import type { CallerNames } from '@gateway/contracts/usage/caller-names';
import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import type { JobInput } from '@gateway/jobs/catalog';
import { parseJson, withoutMark } from '@gateway/service-kit/request/json-body';
import { listed, validate } from '@gateway/service-kit/request/validate';

/** Whose line it is, and how it is requested. */
export interface LineAsker {
  readonly identity: Identity;
  /** An error rather than have a member left out. */
  readonly strict: boolean;
}

/** A line that has been checked. */
export interface PreparedLine {
  readonly estimate: UsageResult;
  /** See `Demand`. */
  readonly mostMicroUsd?: number | undefined;
  /** What its usage is found by. */
  readonly names?: CallerNames;
}

/** One that becomes a job. */
export interface PreparedJob<Kind extends JobKind> extends PreparedLine {
  /** The job's input; what it takes to make it, such as fetching images, happens now. */
  input(signal: AbortSignal): Promise<JobInput<Kind>>;
}

/** An endpoint that the lines of a batch may name. */
export interface LineEndpoint<Prepared extends PreparedLine = PreparedLine> {
  readonly scope: EndpointScope;
  /** What its usage is put down under. */
  readonly usage: UsageSubject['endpoint'];
  /**
   * @param bytes the line as it was sent
   * @throws {GatewayError} for what the endpoint itself would refuse
   */
  prepare(body: unknown, asker: LineAsker, bytes: Buffer): Prepared | Promise<Prepared>;
}

/** One whose lines become jobs. */
export interface JobLineEndpoint<Kind extends JobKind> extends LineEndpoint<PreparedJob<Kind>> {
  readonly kind: Kind;
}

/** The endpoints by their URL. */
export type LineEndpoints<Endpoint extends LineEndpoint = LineEndpoint> = ReadonlyMap<string, Endpoint>;

/** A line that is one, with its endpoint. */
export interface ReadLine<Endpoint> {
  readonly line: BatchLine;
  readonly endpoint: Endpoint;
  readonly bytes: Buffer;
}

interface ReadOptions<Endpoint extends LineEndpoint> {
  readonly endpoints: LineEndpoints<Endpoint>;
  readonly maxJsonDepth: number;
}

/** @throws {GatewayError} for what is no line, or names an endpoint that takes none */
export function readLine<Endpoint extends LineEndpoint>(
  bytes: Buffer,
  { endpoints, maxJsonDepth }: ReadOptions<Endpoint>,
): ReadLine<Endpoint> {
  const line = validate(BatchLine, parseJson(withoutMark(bytes), maxJsonDepth));
  const endpoint = endpoints.get(line.url);
  if (endpoint === undefined) throw notInBatches(line.url, [...endpoints.keys()]);
  return { line, endpoint, bytes };
}

/** @throws {GatewayError} for what its endpoint would refuse of this caller */
export async function checkLine<Prepared extends PreparedLine>(
  read: ReadLine<LineEndpoint<Prepared>>,
  asker: LineAsker,
): Promise<Prepared> {
  const { line, endpoint, bytes } = read;
  checkScope(read, asker);
  try {
    return await endpoint.prepare(line.body, asker, bytes);
  } catch (error) {
    throw error instanceof GatewayError ? below(['body'], error) : error;
  }
}

/** @throws {GatewayError} `endpoint_not_allowed` */
export function checkScope(
  { line, endpoint }: Pick<ReadLine<Pick<LineEndpoint, 'scope'>>, 'line' | 'endpoint'>,
  { identity: { endpoints } }: Pick<LineAsker, 'identity'>,
): void {
  if (endpoints === null || endpoints.includes(endpoint.scope)) return;
  throw new GatewayError('endpoint_not_allowed', {
    path: ['url'],
    message: `Your key may not call ${line.url}. Ask the person who gave you the key.`,
  });
}

/** A streamed line has nobody to stream to. */
export const noStream = (member: string): GatewayError =>
  new GatewayError('unsupported_value', {
    path: [member],
    message: `The lines of a batch cannot be streamed. Omit '${member}'.`,
  });

/** The same error, about something further inside. */
export const below = (prefix: readonly (string | number)[], error: GatewayError): GatewayError =>
  new GatewayError(error.code, { ...error.options, path: [...prefix, ...(error.options.path ?? [])] });

const MAX_SHOWN = 64;

function notInBatches(url: string, known: readonly string[]): GatewayError {
  const urls = listed(
    known.map((one) => `'${one}'`),
    'and',
    ',',
  );
  const why =
    url === '/v1/audio/transcriptions'
      ? ' Recordings are sent as forms, which a line cannot hold: send them one by one, with Prefer: respond-async.'
      : '';
  return new GatewayError('invalid_value', {
    path: ['url'],
    message: `Invalid value: '${url.slice(0, MAX_SHOWN)}'. The lines of this batch may name ${urls}.${why}`,
  });
}
