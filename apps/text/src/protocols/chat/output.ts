import type { ChatOutput, ChatToolCallFragment } from '@gateway/contracts/openai/chat-wire';
import { z } from 'zod';
import type { Target } from '../target.ts';

const ReasoningDetails = z.array(
  z.looseObject({ text: z.string().nullish(), summary: z.string().nullish() }),
);

/** The reasoning text of a message or a delta, wherever this server puts it; empty where there is none. */
export function reasoningOf(output: ChatOutput, { quirks }: Target): string {
  for (const member of quirks.reasoningMembers) {
    const text = output[member];
    if (typeof text === 'string' && text !== '') return text;
  }
  const details = ReasoningDetails.safeParse(output.reasoning_details);
  if (!details.success) return '';
  return details.data.map(({ text, summary }) => text ?? summary ?? '').join('');
}

/** What a fragment adds to a call's arguments: text, or an object that the server has already read for us. */
export function argumentsOf({ function: called, custom }: ChatToolCallFragment): string {
  if (custom) return custom.input ?? '';
  const given = called?.arguments;
  if (given === null || given === undefined) return '';
  return typeof given === 'string' ? given : JSON.stringify(given);
}

export const nameOf = ({ function: called, custom }: ChatToolCallFragment): string =>
  called?.name ?? custom?.name ?? '';
