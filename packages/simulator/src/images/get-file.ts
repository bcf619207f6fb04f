import { ProviderError } from '../replies/provider-error.ts';
import type { Handler } from '../requests/call.ts';

/** `GET /files/{name}`: an image that a reply named by its URL. */
export const getFile: Handler = ({ provider, params: [name = ''] }) => {
  const file = provider.files.get(name);
  if (!file) throw new ProviderError({ status: 404, message: `No such file: ${name}` });
  return { status: 200, contentType: file.contentType, chunks: [file.bytes], isStream: false };
};
