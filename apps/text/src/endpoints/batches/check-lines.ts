import { GatewayError } from '@gateway/contracts/gateway-error';
import type { Identity } from '@gateway/contracts/identity';
import { repeatedId } from '@gateway/model-service/batch/batch-file';
import {
  below,
  checkScope,
  type LineEndpoints,
  noStream,
  readLine,
} from '@gateway/model-service/batch/line-endpoint';
import { openaiError, toGatewayError } from '@gateway/service-kit/error-response';
import { modelFor } from '@gateway/upstream/model-for';
import type { BatchProblem } from '../../batches/batch-records.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import type { BatchEndpoint } from './batch-endpoint.ts';
import type { FileLine } from './batch-lines.ts';
import { LINE_ENDPOINTS } from './text-lines.ts';

/** Problems of one file that are told. */
const MAX_PROBLEMS = 20;

interface CheckOptions {
  readonly services: Pick<TextServices, 'upstream' | 'maxJsonDepth'>;
  readonly endpoints: LineEndpoints;
  readonly identity: Identity;
  readonly maxLines: number;
}

interface CheckedLines {
  readonly lines: number;
  readonly onlyModel: string | null;
  /** None: the file can be worked on. */
  readonly problems: readonly BatchProblem[];
}

/** Looks at all lines of a batch before the first one is begun: at what can be seen without reading their requests. */
export async function checkLines(
  lines: AsyncIterable<FileLine>,
  { services, endpoints, identity, maxLines }: CheckOptions,
): Promise<CheckedLines> {
  const { maxJsonDepth } = services;
  const customIds = new Set<string>();
  const models = new Set<string>();
  const problems: BatchProblem[] = [];
  const check = (bytes: Buffer) => {
    const { line, endpoint } = readLine(bytes, { endpoints, maxJsonDepth });
    checkScope({ line, endpoint }, { identity });
    if (customIds.has(line.custom_id)) throw repeatedId();
    customIds.add(line.custom_id);
    const { model, stream } = line.body;
    if (stream === true) throw below(['body'], noStream('stream'));
    if (models.has(model)) return;
    checkModel(services, { name: model, endpoint: LINE_ENDPOINTS.get(line.url), identity });
    models.add(model);
  };
  let count = 0;
  try {
    for await (const { number, bytes } of lines) {
      count += 1;
      if (count > maxLines) {
        problems.push(problemOf(tooManyLines(maxLines), number));
        break;
      }
      try {
        check(bytes);
      } catch (error) {
        problems.push(problemOf(toGatewayError(error), number));
      }
      if (problems.length === MAX_PROBLEMS) break;
    }
  } catch (error) {
    if (!(error instanceof GatewayError) || error.code !== 'request_too_large') throw error;
    problems.push(problemOf(error, null));
  }
  if (count === 0 && problems.length === 0) problems.push(problemOf(noLines(), null));
  const [first] = models;
  return { lines: count, onlyModel: models.size === 1 && first !== undefined ? first : null, problems };
}

function checkModel(
  { upstream }: Pick<TextServices, 'upstream'>,
  {
    name,
    endpoint,
    identity,
  }: { readonly name: string; readonly endpoint: BatchEndpoint | undefined; readonly identity: Identity },
): void {
  if (endpoint === undefined) return;
  try {
    modelFor(upstream, { name, protocols: [endpoint.passedTo, ...endpoint.translatedTo], identity });
  } catch (error) {
    throw error instanceof GatewayError ? below(['body'], error) : error;
  }
}

export function problemOf(error: GatewayError, line: number | null): BatchProblem {
  const { code, message, param } = openaiError(error);
  return { code: code ?? error.code, message, param, line };
}

const tooManyLines = (maxLines: number): GatewayError =>
  new GatewayError(
    'array_above_max_length',
    `A batch may have at most ${maxLines} lines. Send several batches.`,
  );

const noLines = (): GatewayError =>
  new GatewayError(
    'missing_required_parameter',
    'The file holds no lines. It takes one JSON object on each line.',
  );
