import type { EndpointScope, Identity } from '@gateway/contracts/identity';
import type { RequestTrace } from '@gateway/contracts/trace/request-trace';
import type { ConsumedUsage } from '@gateway/contracts/usage/usage-record';
import type { JobContext } from '@gateway/jobs/worker/job-processor';
import type { PreparedLine } from '@gateway/model-service/batch/line-endpoint';
import type { Protocol } from '@gateway/upstream/protocol';
import type { TextServices } from '../../call/request/text-call.ts';
import type { LineInput } from './answer-line.ts';
import type { LineCaller } from './line-caller.ts';

/** The request of a line, whose caller keeps the answer. */
export interface LineRequest {
  readonly services: TextServices;
  readonly caller: LineCaller;
  readonly identity: Identity;
  readonly bytes: Buffer;
  readonly requestId: string;
  readonly trace?: RequestTrace | undefined;
}

/** What is known of a line before it is answered. */
export interface CheckedRequest extends PreparedLine, Pick<LineInput, 'answerBytes'> {
  readonly model: string;
}

/** A line as its provider gets it. */
export interface PassedLine {
  readonly json: string;
  /** What providers bound in all lines of a batch together; 0 where they do not. */
  readonly inputs: number;
}

/** `jobId` is the id of the line's usage record. */
export type LineContext = Pick<JobContext, 'jobId' | 'signal' | 'consumed' | 'isTriedAgain'>;

/** An endpoint that the lines of batches may name: how its lines are checked, answered, and given to a provider. */
export interface BatchEndpoint {
  /** What a key must be allowed for it, and its name in records. */
  readonly scope: EndpointScope;
  /** What a channel speaks that gets a line's own bytes. */
  readonly passedTo: Protocol;
  /** The other protocols that it can be translated to, best first. */
  readonly translatedTo: readonly Protocol[];
  /** @throws {GatewayError} for what the endpoint refuses */
  check(request: LineRequest): Promise<CheckedRequest>;
  /** Answers the line's caller, and resolves to what it used. @throws what its caller gets in place of an answer */
  answer(request: LineRequest, context: LineContext): Promise<ConsumedUsage>;
  /**
   * Null for one that is answered by more than its provider alone: it goes on from what the gateway keeps, or has to be translated.
   *
   * @throws {GatewayError} for what the endpoint refuses
   */
  passed(request: LineRequest): Promise<PassedLine | null>;
}
