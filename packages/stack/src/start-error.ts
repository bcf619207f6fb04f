/** A start that cannot succeed. The message is for the person at the terminal, who needs no stack trace. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
