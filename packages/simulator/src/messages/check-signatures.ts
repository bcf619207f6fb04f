import { isOwnSeal, isOwnSignature, REDACTED_THINKING_PREFIX } from '../answer/signature.ts';
import { asList, asObject, asText } from '../json-value.ts';
import { invalidMessages } from '../replies/provider-error.ts';

/**
 * Thinking in a request must be this provider's own, unaltered.
 * @throws ProviderError 400
 */
export const checkSignatures = (messages: readonly unknown[], secret: string): void => {
  messages.forEach((message, index) => {
    asList(asObject(message).content).forEach((entry, blockIndex) => {
      const block = asObject(entry);
      const at = `messages.${index}.content.${blockIndex}`;
      if (block.type === 'thinking' && !isOwnSignature(asText(block.thinking), block.signature, secret)) {
        throw invalidMessages(`${at}: Invalid \`signature\` in \`thinking\` block`);
      }
      if (
        block.type === 'redacted_thinking' &&
        !isOwnSeal(REDACTED_THINKING_PREFIX, asText(block.data), secret)
      ) {
        throw invalidMessages(`${at}: Invalid \`data\` in \`redacted_thinking\` block`);
      }
    });
  });
};
