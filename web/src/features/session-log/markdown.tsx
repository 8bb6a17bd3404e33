// Markdown of agents as React elements. There is no path from a text to HTML: tags are drawn as the text that they are,
// images as links, and only addresses of the web are links.
import type { Token, Tokens } from "marked";
import { memo, useMemo, useState, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import { blocksOf, createOpenBlocks, type Block } from "./markdown-blocks.ts";
import { safeLink } from "../../design/safe-link.ts";

/** `isOpen`: the text is still being written. */
export const Markdown = memo(function Markdown({
  text,
  isOpen = false,
}: {
  text: string;
  isOpen?: boolean;
}): ReactNode {
  const [open] = useState(createOpenBlocks);
  const blocks = useMemo(() => (isOpen ? open.update(text) : blocksOf(text)), [open, text, isOpen]);
  return (
    <div className={isOpen ? "prose caret" : "prose"}>
      {blocks.map((block, at) => (
        // Blocks are added at the end only.
        <DrawnBlock key={at} block={block} />
      ))}
    </div>
  );
});

const DrawnBlock = memo(
  ({ block }: { block: Block }): ReactNode => drawBlock(block.token),
  (before, after) => before.block.raw === after.block.raw,
);

function drawBlock(token: Token): ReactNode {
  switch (token.type) {
    case "heading": {
      const { depth, tokens } = token as Tokens.Heading;
      // The page's own headings stand above.
      const Heading = `h${Math.min(6, depth + 2)}` as "h3";
      return <Heading>{drawInline(tokens)}</Heading>;
    }
    case "paragraph":
      return <p>{drawInline((token as Tokens.Paragraph).tokens)}</p>;
    case "code":
      return <Code text={(token as Tokens.Code).text} />;
    case "blockquote":
      return <blockquote>{drawBlocks((token as Tokens.Blockquote).tokens)}</blockquote>;
    case "list":
      return drawList(token as Tokens.List);
    case "table":
      return drawTable(token as Tokens.Table);
    case "hr":
      return <hr />;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? drawInline(tokens) : text;
    }
    case "space":
    case "def":
      return null;
    // "html", and whatever a later version of the lexer calls something.
    default:
      return <p className="plain">{token.raw}</p>;
  }
}

const drawBlocks = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, at) => <DrawnBlock key={at} block={{ raw: token.raw, token }} />);

function drawList({ ordered, start, items }: Tokens.List): ReactNode {
  const drawn = items.map((item, at) => (
    <li key={at}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} readOnly disabled />}
      {drawBlocks(item.tokens.filter(({ type }) => type !== "checkbox"))}
    </li>
  ));
  return ordered ? <ol start={start === "" ? 1 : start}>{drawn}</ol> : <ul>{drawn}</ul>;
}

function drawTable({ header, rows }: Tokens.Table): ReactNode {
  return (
    <div className="wide" tabIndex={0} role="region" aria-label={words("markdown.table")}>
      <table>
        <thead>
          <tr>
            {header.map((cell, at) => (
              <th key={at}>{drawInline(cell.tokens)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, column) => (
                <td key={column}>{drawInline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

const drawInline = (tokens: readonly Token[]): ReactNode =>
  tokens.map((token, at) => <Inline key={at} token={token} />);

function Inline({ token }: { token: Token }): ReactNode {
  switch (token.type) {
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? drawInline(tokens) : text;
    }
    case "escape":
      return (token as Tokens.Escape).text;
    case "strong":
      return <strong>{drawInline((token as Tokens.Strong).tokens)}</strong>;
    case "em":
      return <em>{drawInline((token as Tokens.Em).tokens)}</em>;
    case "del":
      return <del>{drawInline((token as Tokens.Del).tokens)}</del>;
    case "codespan":
      return <code>{(token as Tokens.Codespan).text}</code>;
    case "br":
      return <br />;
    case "link": {
      const { href, tokens } = token as Tokens.Link;
      return <Link address={href}>{drawInline(tokens)}</Link>;
    }
    case "image": {
      // An image would tell its server that somebody reads this.
      const { href, text } = token as Tokens.Image;
      return <Link address={href}>{text === "" ? href : text}</Link>;
    }
    default:
      return token.raw;
  }
}

/** An address that is none of the web stays a text. */
function Link({ address, children }: { address: string; children: ReactNode }): ReactNode {
  const link = safeLink(address);
  if (!link) return <span title={address}>{children}</span>;
  return (
    <>
      <a href={link.href} target="_blank" rel="noopener noreferrer nofollow">
        {children}
      </a>{" "}
      <span className="host">({link.host})</span>
    </>
  );
}

function Code({ text }: { text: string }): ReactNode {
  const [isCopied, setIsCopied] = useState(false);
  return (
    <div className="code">
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <button
        type="button"
        className="btn sm copy-code"
        onClick={() => {
          void navigator.clipboard.writeText(text).then(() => setIsCopied(true));
        }}
      >
        {words(isCopied ? "copied" : "copy")}
      </button>
    </div>
  );
}
