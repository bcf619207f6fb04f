import { GatewayError } from '@gateway/contracts/gateway-error';
import { CALLER_NAME_HEADERS } from '@gateway/contracts/usage/caller-names';
import type { LineEndpoint, PreparedLine } from '@gateway/model-service/batch/line-endpoint';
import type { TextServices } from '../../call/request/text-call.ts';
import { CHAT, COMPLETIONS, MESSAGES, RESPONSES } from '../../call/request/text-endpoint.ts';
import { MemberScanner } from '../../wire/json-members.ts';
import type { LineInput } from './answer-line.ts';
import type { BatchEndpoint } from './batch-endpoint.ts';
import { conversationLines } from './conversation-lines.ts';
import { LineCaller } from './line-caller.ts';
import { modelCallLines } from './model-call-lines.ts';

/** The endpoints that lines may name, by their path. */
export const LINE_ENDPOINTS: ReadonlyMap<string, BatchEndpoint> = new Map([
  ['/v1/chat/completions', conversationLines(CHAT)],
  ['/v1/responses', conversationLines(RESPONSES)],
  ['/v1/messages', conversationLines(MESSAGES)],
  ['/v1/completions', conversationLines(COMPLETIONS)],
  ['/v1/embeddings', modelCallLines('embeddings')],
  ['/v1/moderations', modelCallLines('moderations')],
]);

/** A line that has been checked, and the request that it is. */
export interface PreparedText extends PreparedLine {
  readonly input: LineInput;
}

export type TextLineEndpoint = LineEndpoint<PreparedText>;

interface Batch {
  readonly requestId: string;
  /** Those of its request's headers that its lines have. */
  readonly headers: Readonly<Record<string, string>>;
  /** By which the usage of its lines is found. */
  readonly label: string;
}

/** The requests of a batch, each of which is checked when its turn has come. */
export const textLines = (
  services: TextServices,
  url: string,
  batch: Batch,
): ReadonlyMap<string, TextLineEndpoint> => {
  const endpoint = LINE_ENDPOINTS.get(url);
  return new Map(endpoint === undefined ? [] : [[url, lineEndpoint(services, { url, endpoint }, batch)]]);
};

function lineEndpoint(
  services: TextServices,
  { url, endpoint }: { readonly url: string; readonly endpoint: BatchEndpoint },
  { requestId, headers: sent, label }: Batch,
): TextLineEndpoint {
  const headers = { ...sent, [CALLER_NAME_HEADERS.label]: label };
  return {
    scope: endpoint.scope,
    usage: endpoint.scope,
    prepare: async (_body, { identity: asked }, line) => {
      // Callers that wait for their answers go first.
      const identity = { ...asked, priority: 'low' as const };
      const bytes = memberIn(line, 'body');
      const caller = new LineCaller(headers, url);
      try {
        const request = { services, caller, identity, bytes, requestId };
        const { model, answerBytes, ...prepared } = await endpoint.check(request);
        return { ...prepared, input: { model, url, body: bytes, headers, identity, answerBytes } };
      } finally {
        caller.leave();
      }
    },
  };
}

/** A member of a line as it was sent: its numbers may be longer than JavaScript's. */
export function memberIn(line: Buffer, name: string): Buffer {
  const members = new MemberScanner(line);
  for (let member = members.next(); member !== null; member = members.next())
    if (line.toString('utf8', member.nameStart, member.nameEnd) === `"${name}"`)
      return line.subarray(member.start, member.end);
  throw new GatewayError('invalid_json', {
    path: [name],
    message: `The name of the member '${name}' must be written without escapes.`,
  });
}
