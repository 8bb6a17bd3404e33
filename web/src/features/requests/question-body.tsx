// Questions of an agent: options, several where the question allows it, own words only where it accepts them. Several
// questions are steps of one card, and are sent together.
import type { Request } from "@hawser/client";
import { useId, useState, type ReactNode } from "react";
import { useAct, useHasSingleKeys } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { armingMs } from "./arming.ts";
import type { Answer } from "./card-state.ts";
import { Visible } from "./visible.tsx";

interface QuestionBodyProps {
  request: Request;
  isOpen: boolean;
  shownAt: number;
  /** The card is on screen, so keys are meant for it. */
  isInSight: () => boolean;
  onAnswer: (answer: Answer) => void;
  renderFooter: (buttons: ReactNode) => ReactNode;
}

export function QuestionBody({
  request,
  isOpen,
  shownAt,
  isInSight,
  onAnswer,
  renderFooter,
}: QuestionBodyProps): ReactNode {
  const questions = request.questions ?? [];
  const [step, setStep] = useState(0);
  const [chosen, setChosen] = useState<string[][]>(() => questions.map(() => []));
  const [own, setOwn] = useState<string[]>(() => questions.map(() => ""));
  const question = questions[step];
  const ownId = useId();
  const hasKeys = useHasSingleKeys();

  const toggle = (label: string) => {
    if (!isOpen || !question) return;
    setChosen((before) =>
      before.map((labels, at) => {
        if (at !== step) return labels;
        if (!question.multiple) return [label];
        return labels.includes(label)
          ? labels.filter((each) => each !== label)
          : [...labels, label];
      }),
    );
    if (!question.multiple) setOwn((before) => before.with(step, ""));
  };
  useAct(
    "choose",
    (key) => {
      const option = question?.options[Number(key) - 1];
      if (!option || !isInSight() || performance.now() - shownAt < armingMs) return false;
      return toggle(option.label);
    },
    isOpen,
  );
  if (!question) return null;

  const labelsOf = (at: number) => {
    const text = own[at]!.trim();
    return text === "" ? chosen[at]! : questions[at]!.multiple ? [...chosen[at]!, text] : [text];
  };
  const isAnswered = labelsOf(step).length > 0;
  const isLast = step === questions.length - 1;
  const buttons = (
    <>
      <button
        type="button"
        className="btn"
        aria-disabled={!isOpen}
        onClick={() => onAnswer({ dismiss: true })}
      >
        {words("request.dismiss")}
      </button>
      <span className="push" />
      {step > 0 && (
        <button type="button" className="btn" onClick={() => setStep(step - 1)}>
          {words("request.back")}
        </button>
      )}
      <button
        type="button"
        className="btn primary"
        aria-disabled={!isOpen || !isAnswered}
        onClick={() => {
          if (!isAnswered) return;
          if (isLast) onAnswer({ labels: questions.map((_, at) => labelsOf(at)) });
          else setStep(step + 1);
        }}
      >
        {words(isLast ? "request.answer" : "request.next")}
      </button>
    </>
  );
  return (
    <>
      <div className="body">
        {questions.length > 1 && (
          <p>
            <span className="dim">
              {words("request.of", { n: step + 1, all: questions.length })}
            </span>{" "}
            <Visible text={question.question} />
          </p>
        )}
        <div
          className="opts"
          role={question.multiple ? "group" : "radiogroup"}
          aria-label={question.question}
        >
          {question.options.map((option, at) => (
            <button
              key={option.label}
              type="button"
              className="opt"
              role={question.multiple ? "checkbox" : "radio"}
              aria-checked={chosen[step]!.includes(option.label)}
              aria-disabled={!isOpen}
              onClick={() => toggle(option.label)}
            >
              <kbd className="key" aria-hidden>
                {at < 9 && hasKeys ? at + 1 : ""}
              </kbd>
              <div>
                <b>
                  <Visible text={option.label} />
                </b>
                {option.description !== null && option.description !== option.label && (
                  <span>
                    <Visible text={option.description} />
                  </span>
                )}
              </div>
            </button>
          ))}
        </div>
        {question.freeText && (
          <div className="field">
            <label htmlFor={ownId} className="dim">
              {words("request.own")}
            </label>
            <input
              id={ownId}
              className="input"
              value={own[step]}
              onChange={(event) => setOwn((before) => before.with(step, event.target.value))}
            />
          </div>
        )}
      </div>
      {renderFooter(buttons)}
    </>
  );
}
