import { Readable } from 'node:stream';
import { fetchBy } from '../../connecting/fetch-by.ts';
import type { TokenWay } from '../credential-source.ts';

/** A request as AWS' clients give it to what sends it. */
interface AwsRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly method: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

/** The requests of AWS' clients, by the channel's way out. */
export function awsHandler({ network, signal }: TokenWay) {
  const fetch = fetchBy(network);
  return {
    async handle(request: AwsRequest) {
      const { method, headers, body } = request;
      const answer = await fetch(addressOf(request), {
        method: method === 'GET' ? method : 'POST',
        headers,
        body:
          body instanceof Uint8Array ? Buffer.from(body).toString() : typeof body === 'string' ? body : null,
        signal,
      });
      const { status: statusCode } = answer;
      const bytes = Buffer.from(await answer.arrayBuffer());
      return {
        response: {
          statusCode,
          headers: Object.fromEntries(answer.headers),
          body: Readable.from([bytes], { objectMode: false }),
        },
      };
    },
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  };
}

function addressOf({ protocol, hostname, port, path, query = {} }: AwsRequest): string {
  const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value ?? '']) url.searchParams.append(name, one);
  return url.href;
}
