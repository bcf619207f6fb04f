import type { UsageResult, UsageSubject } from '@gateway/contracts/usage/usage-record';
import { hooksFor } from '@gateway/hooks/open-hooks';
import { lineJobId } from '@gateway/jobs/redis/job-keys';
import { checkLine, readLine } from '@gateway/model-service/batch/line-endpoint';
import type { BatchContext } from '@gateway/model-service/batch/run-batch';
import { answeredUpstream } from '@gateway/upstream/batches/answered-upstream';
import type { LineJournal } from '../../../batches/line-journal.ts';
import type { ProviderNote } from '../../../batches/provider-note.ts';
import type { TextServices } from '../../../call/request/text-call.ts';
import type { LineInput } from '../answer-line.ts';
import type { FileLine } from '../batch-lines.ts';
import { LineCaller } from '../line-caller.ts';
import { LINE_ENDPOINTS, textLines } from '../text-lines.ts';

/** Whose lines they are, and where they are done. */
export interface LinePlace {
  readonly services: TextServices;
  readonly journal: LineJournal;
  readonly note: Pick<ProviderNote, 'channel' | 'account' | 'batches' | 'identity' | 'startedAtMs'>;
  readonly context: Pick<BatchContext, 'jobId' | 'requestId' | 'signal'>;
  /** The path that its lines name, their headers and their label. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly label: string;
}

/** A line as it is billed: at the price of batches. */
export interface BilledLine {
  readonly index: number;
  readonly id: string;
  readonly input: LineInput;
  readonly subject: UsageSubject;
  readonly estimate: UsageResult;
  readonly mostMicroUsd: number | undefined;
}

export interface ProviderLine extends BilledLine {
  /** Its body, as the provider gets it. */
  readonly body: string;
  /** See `PassedLine`. */
  readonly inputs: number;
}

/** @throws {GatewayError} for what its endpoint refuses */
export async function billedLine(
  { services, note, context, url, headers, label }: Omit<LinePlace, 'journal'>,
  { index, bytes }: Pick<FileLine, 'index' | 'bytes'>,
): Promise<BilledLine> {
  const { jobId, requestId } = context;
  const { identity, startedAtMs } = note;
  const atPlace = { ...services, upstream: answeredUpstream(services.upstream, note, null) };
  const endpoints = textLines(atPlace, url, { requestId, headers, label });
  const read = readLine(bytes, { endpoints, maxJsonDepth: services.maxJsonDepth });
  const checked = await checkLine(read, { identity, strict: false });
  const { estimate, mostMicroUsd, names, input } = checked;
  const id = lineJobId(jobId, index);
  const { keyId, team } = identity;
  const begun = { id, keyId, team, endpoint: read.endpoint.usage, model: input.model, startedAtMs };
  return { index, id, input, subject: { ...begun, requestId, ...names }, estimate, mostMicroUsd };
}

/**
 * The same with what the provider gets. Null for one that is answered by more than its provider alone (`BatchEndpoint.passed`), or is
 * checked by a hook.
 *
 * @throws {GatewayError} for what its endpoint refuses
 */
export async function providerLine(place: LinePlace, line: FileLine): Promise<ProviderLine | null> {
  const billed = await billedLine(place, line);
  const { url, body, headers, identity } = billed.input;
  const endpoint = LINE_ENDPOINTS.get(url);
  if (endpoint === undefined) return null;
  const { services: usual, note, context } = place;
  // One that is configured only now must not be passed by either.
  if (hooksFor(usual.upstream.configuration.hooks, identity, billed.input.model).length > 0) return null;
  const services = { ...usual, upstream: answeredUpstream(usual.upstream, note, null) };
  const caller = new LineCaller(headers, url);
  try {
    const { requestId } = context;
    const passed = await endpoint.passed({
      ...{ services, caller, identity, bytes: body, requestId },
    });
    return passed && { ...billed, body: passed.json.replace(/[\r\n]+/g, ' '), inputs: passed.inputs };
  } finally {
    caller.leave();
  }
}
