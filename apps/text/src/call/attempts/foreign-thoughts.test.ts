import { GatewayError } from '@gateway/contracts/gateway-error';
import { expect, test } from 'vitest';
import { refusesThoughts } from './foreign-thoughts.ts';

const refusal = (message: string, code: 'upstream_rejected' | 'object_not_found' = 'upstream_rejected') =>
  new GatewayError(code, { message, source: 'upstream' });

test.for([
  'The encrypted content gAAA... could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
  'Encrypted content organization_id did not match the target organization.',
  "Item 'rs_0123' of type 'reasoning' was provided without its required following item.",
  'messages.1.content.0: Invalid `signature` in `thinking` block',
  'messages.3.content.0: Invalid `data` in `redacted_thinking` block',
  'messages.1.content.0.thinking.signature: Field required',
  'messages.5.content.1: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.',
  'Corrupted thought signature.',
  'Thought signature is not valid.',
])('%s means thoughts of another maker', (message) => {
  expect(refusesThoughts(refusal(message))).toBe(true);
});

test('a reasoning item that a provider does not have is one of them, and no other item', () => {
  const missing = (id: string) => refusal(`Item with id '${id}' not found.`, 'object_not_found');
  expect(refusesThoughts(missing('rs_0123'))).toBe(true);
  expect(refusesThoughts(missing('msg_0123'))).toBe(false);
});

test.for([
  'messages.1.content.0.thinking.budget_tokens: Input should be greater than or equal to 1024',
  'Invalid signature of the image URL',
  "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
])('%s means something else', (message) => {
  expect(refusesThoughts(refusal(message))).toBe(false);
});

test('a failure that is no refusal is none of thoughts', () => {
  expect(
    refusesThoughts(new GatewayError('upstream_failed', { message: 'Corrupted thought signature.' })),
  ).toBe(false);
});
