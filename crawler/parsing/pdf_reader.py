"""The process that reads one PDF: from standard input, as JSON to standard output. Started by ``pdf``, as source text.

PDFium is C++: fast, and made for hostile files, but a fault in it ends its process. So this one has nothing to lose: no
environment, no more memory and CPU time than it is given, and it is killed if it hangs. It imports nothing of ours.
"""

import json
import resource
import sys

HYPHENS = dict.fromkeys((0x02, 0xFFFE))  # what PDFium makes of one at the end of a line, and of the line's end


def main(megabytes: int, cpu_seconds: int, max_pages: int, max_characters: int) -> None:
    for limit, value in (
        (resource.RLIMIT_AS, megabytes << 20),
        (resource.RLIMIT_CPU, cpu_seconds),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),  # it has nothing to write but the pipe
    ):
        resource.setrlimit(limit, (value, value))
    try:
        import pypdfium2
    except ImportError:
        answer({"trouble": "PDF needs pypdfium2: pip install -r requirements.txt"})
        return
    try:
        document = pypdfium2.PdfDocument(sys.stdin.buffer.read())
        length, texts, pages, broken = 0, [], len(document), 0
        for number in range(min(pages, max_pages)):
            try:
                text = document[number].get_textpage().get_text_bounded()
            except pypdfium2.PdfiumError:  # other pages may be whole
                broken += 1
                if broken == min(pages, max_pages):
                    raise
                continue
            text = text.translate(HYPHENS)
            texts.append(text)
            length += len(text)
            if length > max_characters:
                break
        told = {name: text[:1000] for name, text in document.get_metadata_dict(skip_empty=True).items()}
    except MemoryError:
        answer({"trouble": f"this PDF takes more than {megabytes} MB of memory"})
        return
    except (pypdfium2.PdfiumError, ValueError) as error:
        answer({"trouble": f"this PDF cannot be read: {error}"})
        return
    text = "\n".join(texts)
    answer({"text": text[:max_characters], "told": told, "is_cut": len(texts) < pages or len(text) > max_characters})


def answer(found: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(found))  # ASCII: lone surrogates of a PDF travel as escapes
    sys.stdout.flush()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:5]))
