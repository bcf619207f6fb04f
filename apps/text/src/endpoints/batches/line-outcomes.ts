import type { GatewayError } from '@gateway/contracts/gateway-error';
import type { BatchFace } from '@gateway/contracts/jobs';
import { anthropicError, errorResponse } from '@gateway/service-kit/error-response';
import type { LineEnding } from '../../batches/journal-entries.ts';

/** What became of a line. */
export type LineOutcome = LineEnding | { readonly type: 'canceled' } | { readonly type: 'expired' };

export interface EndedLine {
  readonly customId: string;
  /** That of its usage record. */
  readonly id: string;
  readonly outcome: LineOutcome;
}

interface ResultFile {
  /** What the batch calls it. */
  readonly name: string;
  readonly takes: (type: LineOutcome['type']) => boolean;
}

interface ResultForm {
  readonly files: readonly ResultFile[];
  /** One line of JSON, without its end. */
  readonly write: (line: EndedLine) => string;
}

/** How the results of batches are written, by whose clients read them. */
export const RESULT_FORMS: Readonly<Record<BatchFace, ResultForm>> = {
  openai: {
    files: [
      { name: 'output', takes: (type) => type === 'succeeded' },
      { name: 'error', takes: (type) => type !== 'succeeded' },
    ],
    write: ({ customId, id, outcome }) => {
      const head = `{"id":"batch_req_${id.slice(id.indexOf('_') + 1)}","custom_id":${JSON.stringify(customId)},`;
      const reply = (status: number, body: string) =>
        `${head}"response":{"status_code":${status},"request_id":"${id}","body":${body}},"error":null}`;
      const notBegun = (code: string, message: string) =>
        `${head}"response":null,"error":${JSON.stringify({ code, message })}}`;
      switch (outcome.type) {
        case 'succeeded':
          return reply(outcome.answer.status, onOneLine(outcome.answer.body));
        case 'errored': {
          const { status, body } = errorResponse(outcome.error, 'openai', id);
          return reply(status, asJson(body));
        }
        case 'canceled':
          return notBegun('batch_cancelled', 'The batch was cancelled before this request was run.');
        case 'expired':
          return notBegun('batch_expired', 'The batch expired before this request was run.');
      }
    },
  },
  anthropic: {
    files: [{ name: 'results', takes: () => true }],
    write: ({ customId, id, outcome }) => {
      const line = (result: string) => `{"custom_id":${JSON.stringify(customId)},"result":${result}}`;
      switch (outcome.type) {
        case 'succeeded':
          return line(`{"type":"succeeded","message":${onOneLine(outcome.answer.body)}}`);
        case 'errored': {
          const { body } = errorResponse(outcome.error, 'anthropic', id);
          return line(`{"type":"errored","error":${asJson(body, outcome.error)}}`);
        }
        default:
          return line(`{"type":"${outcome.type}"}`);
      }
    },
  },
};

/** JSON without the line ends that may stand between its members. In its texts there are none. */
const onOneLine = (json: string): string => json.replace(/[\r\n]+/g, ' ');

/** A provider's error is relayed as it came, and may be anything. */
function asJson(body: string, error?: GatewayError): string {
  try {
    return JSON.stringify(JSON.parse(body));
  } catch {
    return JSON.stringify(error === undefined ? body : { type: 'error', error: anthropicError(error) });
  }
}
