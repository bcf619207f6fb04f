import type { ReplyPart } from '../parts.ts';
import type { Reply } from './reply.ts';
import type { StreamEvent } from './stream-event.ts';

/** A finished answer as the stream that would have made it, one delta per part. */
export function* replyEvents(reply: Reply): Generator<StreamEvent> {
  yield { type: 'start', usage: reply.usage, serviceTier: reply.serviceTier };
  for (const part of reply.parts) yield* partEvents(part);
  yield { type: 'finish', finish: reply.finish, usage: reply.usage, serviceTier: reply.serviceTier };
}

function* partEvents(part: ReplyPart): Generator<StreamEvent> {
  switch (part.type) {
    case 'text':
      yield { type: 'text-start' };
      if (part.text !== '') yield { type: 'text-delta', text: part.text, logprobs: part.logprobs };
      for (const citation of part.citations ?? []) yield { type: 'text-citation', citation };
      yield { type: 'text-end' };
      break;
    case 'refusal':
      yield { type: 'refusal-start' };
      if (part.text !== '') yield { type: 'refusal-delta', text: part.text };
      yield { type: 'refusal-end' };
      break;
    case 'reasoning':
      yield { type: 'reasoning-start', form: part.form };
      for (const [index, text] of part.texts.entries()) {
        if (index > 0) yield { type: 'reasoning-break' };
        if (text !== '') yield { type: 'reasoning-delta', text };
      }
      yield { type: 'reasoning-end', payload: part.payload };
      break;
    case 'tool-call': {
      const { id, name, custom, namespace, item } = part;
      yield { type: 'tool-call-start', id, name, custom, namespace, item };
      if (part.arguments !== '') yield { type: 'tool-call-delta', text: part.arguments };
      yield { type: 'tool-call-end' };
      break;
    }
    case 'web-search':
      yield { type: 'web-search-start' };
      yield { type: 'web-search-end', search: part };
  }
}
