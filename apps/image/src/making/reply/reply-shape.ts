import type { IncomingHttpHeaders } from 'node:http';
import { ImagesReply } from '@gateway/contracts/openai/images';
import { z } from 'zod';
import { sourceOf } from '../../files/image-source.ts';

/** The lists in which servers put their images, the protocol's first. */
const LISTS = ['data', 'images'] as const;
export type ImageList = (typeof LISTS)[number];
/** The members of an entry that hold an image or its URL, the protocol's first. An entry may be such a text itself, too. */
const MEMBERS = ['b64_json', 'url', 'image_url', 'b64', 'base64', 'image'] as const;
/** Those that name a URL also where the text does not begin like one. */
const URL_MEMBERS: ReadonlySet<unknown> = new Set(['url', 'image_url']);

/** The longest URL of an image; a longer string holds the image itself. */
export const MAX_URL_LENGTH = 16 * 1024;

type JsonPath = readonly (string | number)[];

/** Where an image of a reply, or its URL, stands. */
export interface ImagePlace {
  readonly list: ImageList;
  readonly index: number;
  readonly isNamedUrl: boolean;
}

/** What stands at a path of a reply; null for anything but an image. */
export function imagePlace([list, index, member, inner, ...deeper]: JsonPath): ImagePlace | null {
  const known = LISTS.find((name) => name === list);
  if (known === undefined || typeof index !== 'number' || deeper.length > 0) return null;
  const isInner = member === 'image_url' && inner === 'url';
  if (inner !== undefined && !isInner) return null;
  if (member !== undefined && !MEMBERS.some((name) => name === member)) return null;
  return { list: known, index, isNamedUrl: URL_MEMBERS.has(member) };
}

/** Whether a reply is an image itself, and no JSON. */
export const isImageBody = ({ 'content-type': type = '' }: IncomingHttpHeaders): boolean =>
  /^\s*image\//i.test(type);

const Members = z.record(z.string(), z.unknown()).catch({});

/**
 * A reply in the protocol's own shape, without its images.
 *
 * @param list in which they were
 * @throws {z.ZodError} for what has no list of images
 */
export function replyOf(reply: unknown, list: ImageList = 'data'): ImagesReply {
  const members = Members.parse(reply);
  const { [list]: entries, ...own } = members;
  const data = z
    .array(Members)
    .parse(entries)
    .map((entry) => without(MEMBERS, entry));
  return ImagesReply.parse({ ...without(LISTS, own), data });
}

const without = (names: readonly string[], members: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !names.includes(name)));

/** Whether a text is the URL of an image, and not the image. */
export function isImageUrl(text: string, isNamedUrl: boolean): boolean {
  const { kind } = sourceOf(text.slice(0, MAX_URL_LENGTH));
  return kind === 'url' || (kind !== 'data' && isNamedUrl && text.length <= MAX_URL_LENGTH);
}

/** An image of a whole reply, or its URL. */
interface ImageText {
  readonly text: string;
  readonly isNamedUrl: boolean;
}

/** A whole reply in the protocol's own shape, and the image of each entry, where it has one. */
export function wholeReplyOf(reply: unknown): {
  readonly images: ImagesReply;
  readonly texts: readonly (ImageText | undefined)[];
} {
  const members = Members.parse(reply);
  const textsIn = (list: ImageList) => z.array(z.unknown()).catch([]).parse(members[list]).map(imageTextOf);
  const list = LISTS.find((name) => textsIn(name).some((text) => text !== undefined)) ?? 'data';
  return { images: replyOf(reply, list), texts: textsIn(list) };
}

function imageTextOf(entry: unknown): ImageText | undefined {
  if (typeof entry === 'string' && entry !== '') return { text: entry, isNamedUrl: false };
  const members = Members.parse(entry);
  return MEMBERS.flatMap((name): ImageText[] => {
    const value = name === 'image_url' ? (Members.parse(members[name]).url ?? members[name]) : members[name];
    return typeof value === 'string' && value !== ''
      ? [{ text: value, isNamedUrl: URL_MEMBERS.has(name) }]
      : [];
  })[0];
}
