import { NO_USAGE } from '../../wire/usage.ts';
import type { Citation, ReplyPart, ToolCallPart } from '../parts.ts';
import type { Reply } from './reply.ts';
import type { StreamEvent } from './stream-event.ts';

/**
 * A whole stream as the finished answer it amounts to.
 * @throws GatewayError that the stream ended with
 */
export function collectReply(events: Iterable<StreamEvent>): Reply {
  const parts: ReplyPart[] = [];
  let reply: Reply = { parts, finish: { reason: 'stop' }, usage: NO_USAGE };
  let text = '';
  let texts: string[] = [];
  let citations: Citation[] = [];
  let logprobs: unknown[] = [];
  let call: Omit<ToolCallPart, 'arguments'> = { type: 'tool-call', id: '', name: '' };
  let form: 'summary' | 'trace' = 'summary';

  for (const event of events) {
    switch (event.type) {
      case 'text-start':
      case 'refusal-start':
        text = '';
        citations = [];
        logprobs = [];
        break;
      case 'text-delta':
        text += event.text;
        logprobs.push(...(event.logprobs ?? []));
        break;
      case 'refusal-delta':
      case 'tool-call-delta':
        text += event.text;
        break;
      case 'text-citation':
        citations.push(event.citation);
        break;
      case 'text-end':
        parts.push({
          type: 'text',
          text,
          ...(citations.length > 0 && { citations }),
          ...(logprobs.length > 0 && { logprobs }),
        });
        break;
      case 'refusal-end':
        parts.push({ type: 'refusal', text });
        break;
      case 'reasoning-start':
        form = event.form;
        texts = [];
        break;
      case 'reasoning-delta':
        texts.push((texts.pop() ?? '') + event.text);
        break;
      case 'reasoning-break':
        texts.push('');
        break;
      case 'reasoning-end':
        parts.push({ type: 'reasoning', form, texts, ...(event.payload && { payload: event.payload }) });
        break;
      case 'tool-call-start': {
        const { id, name, custom, namespace, item } = event;
        call = {
          type: 'tool-call',
          id,
          name,
          ...(custom && { custom }),
          ...(namespace && { namespace }),
          ...(item && { item }),
        };
        text = '';
        break;
      }
      case 'tool-call-end':
        parts.push({ ...call, arguments: text });
        break;
      case 'web-search-end':
        parts.push(event.search);
        break;
      case 'finish':
        reply = {
          parts,
          finish: event.finish,
          usage: event.usage,
          ...(event.serviceTier && { serviceTier: event.serviceTier }),
        };
        break;
      case 'error':
        throw event.error;
      default:
        break;
    }
  }
  return reply;
}
