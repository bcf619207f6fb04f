/** English text has about so many bytes for each token: what is charged where a provider does not report it. */
export const BYTES_PER_TOKEN = 4;

/** As few has a text in Chinese, or code: what is reserved. */
export const LEAST_BYTES_PER_TOKEN = 2;
