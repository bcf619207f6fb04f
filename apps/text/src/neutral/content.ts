import type { Path } from '../wire/path.ts';
import { readAddress } from './data-url.ts';
import { refuseParameter } from './losses.ts';
import type { AudioPart, MediaSource, RefusalPart, ResultContent } from './parts.ts';
import type { RequestReader } from './request-reader.ts';

export type ContentPart = ResultContent | AudioPart | RefusalPart;

const isResultContent = (part: ContentPart): part is ResultContent =>
  part.type !== 'audio' && part.type !== 'refusal';

/** What a tool returned. */
export function resultContent(parts: readonly ContentPart[], reader: RequestReader): ResultContent[] {
  for (const part of parts) {
    if (!isResultContent(part)) reader.refuse(part.at ?? [], 'A tool cannot return this kind of content.');
  }
  return parts.filter(isResultContent);
}

/**
 * Where content comes from: a member that holds an address or a data URL, or `file_id`. The first one that is given
 * counts.
 * @throws GatewayError where it is neither an address nor a data URL, such as bare base64
 */
export function decodeSource(
  members: { readonly [member: string]: string | null | undefined },
  at: Path,
  reader: RequestReader,
): MediaSource {
  const [first, ...others] = Object.entries(members).flatMap(([name, value]) =>
    value ? [{ name, value }] : [],
  );
  if (first === undefined) return refuseParameter(at, 'Neither content nor an address of it is given.');
  for (const { name } of others) reader.drop([...at, name], 'the content is given more than once');
  const { name, value } = first;
  if (name === 'file_id') return { type: 'file', fileId: value };
  return (
    readAddress(value) ??
    refuseParameter(
      [...at, name],
      'Expected an http(s) URL or a data URL with a media type, such as data:image/png;base64,….',
    )
  );
}
