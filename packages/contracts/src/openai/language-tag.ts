/** All codes of ISO 639-1, the two-letter ones. */
const ISO_639_1 = new Set(
  (
    'aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el ' +
    'en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ' +
    'iw ja jv jw ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt ' +
    'my na nb nd ne ng nl nn no nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl ' +
    'sm sn so sq sr ss st su sv sw ta te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za ' +
    'zh zu'
  ).split(' '),
);

/** Language, then script, region and variants, each optional (RFC 5646 §2.1, without extensions). */
const TAG = /^([a-z]{2,3})(-[a-z]{4})?(-(?:[a-z]{2}|\d{3}))?(-(?:[a-z0-9]{5,8}|\d[a-z0-9]{3}))*$/i;

/**
 * Whether a text is a language of a transcription request: ISO 639-1 (`en`), ISO 639-3 (`yue`) or a BCP 47 tag
 * of them (`zh-Hant-TW`). Two letters must be a code that exists; the thousands of three-letter ones are not listed.
 */
export function isLanguageTag(text: string): boolean {
  const language = TAG.exec(text)?.[1]?.toLowerCase();
  return language !== undefined && (language.length === 3 || ISO_639_1.has(language));
}
