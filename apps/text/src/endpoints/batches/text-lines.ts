import { GatewayError } from '@gateway/contracts/gateway-error';
import { CALLER_NAME_HEADERS } from '@gateway/contracts/usage/caller-names';
import { type LineEndpoint, noStream } from '@gateway/model-service/batch/line-endpoint';
import { costlyRequest } from '../../call/accounting/metered-call.ts';
import { namesOf } from '../../call/request/conversation-key.ts';
import type { TextServices } from '../../call/request/text-call.ts';
import { CHAT, MESSAGES, RESPONSES, type TextEndpoint } from '../../call/request/text-endpoint.ts';
import { MemberScanner } from '../../wire/json-members.ts';
import { openQueuedCall } from '../background/job-call.ts';
import { LineCaller } from './line-caller.ts';

/** The endpoints that lines of text requests may name, by their path. */
export const LINE_ENDPOINTS: ReadonlyMap<string, TextEndpoint> = new Map([
  ['/v1/chat/completions', CHAT],
  ['/v1/responses', RESPONSES],
  ['/v1/messages', MESSAGES],
]);

export type TextLine = 'text.line';

interface Batch {
  readonly requestId: string;
  /** Those of its request's headers that its lines have. */
  readonly headers: Readonly<Record<string, string>>;
  /** By which the usage of its lines is found. */
  readonly label: string;
}

/** The requests of a batch as what its queue takes: each is checked, and its most is reserved, when its turn has come. */
export const textLines = (
  services: TextServices,
  url: string,
  batch: Batch,
): ReadonlyMap<string, LineEndpoint<TextLine>> => {
  const endpoint = LINE_ENDPOINTS.get(url);
  return new Map(endpoint === undefined ? [] : [[url, lineEndpoint(services, { url, endpoint }, batch)]]);
};

function lineEndpoint(
  services: TextServices,
  { url, endpoint }: { readonly url: string; readonly endpoint: TextEndpoint },
  { requestId, headers: sent, label }: Batch,
): LineEndpoint<TextLine> {
  const headers = { ...sent, [CALLER_NAME_HEADERS.label]: label };
  return {
    kind: 'text.line',
    scope: endpoint.protocol,
    usage: endpoint.protocol,
    prepare: async (_body, { identity: asked }, line) => {
      // Callers that wait for their answers go first.
      const identity = { ...asked, priority: 'low' as const };
      const bytes = memberIn(line, 'body');
      const caller = new LineCaller(headers, url);
      try {
        const call = await openQueuedCall({ endpoint, identity, bytes }, { services, caller, requestId });
        if (call.request.streamed) throw noStream('stream');
        if (call.request.background) throw inBackground();
        const { estimate, mostMicroUsd, model } = costlyRequest(call);
        const body = bytes.toString();
        const input = async () => ({ model, url, body, headers, identity });
        return { estimate, mostMicroUsd, names: namesOf(call), input };
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

const inBackground = (): GatewayError =>
  new GatewayError('unsupported_value', {
    path: ['background'],
    message: "The lines of a batch are done in the background anyway. Omit 'background'.",
  });
