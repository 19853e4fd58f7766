use std::time::{Duration, Instant};
use json_cas::schema::{MAX_SCHEMA_DEPTH, Schema, Severity, check, is_remote_ref};
use json_cas::{Hash, Violation};
use serde_json::{Map, Value, json};
fn build(s:&Value)->jsonschema::Validator { jsonschema::options().should_validate_formats(true).with_pattern_options(jsonschema::PatternOptions::regex()).offline().build(s).unwrap() }
#[test]
fn p() {
    for n in [8,11,16,20,23] {
    let mut defs=Map::new();
    for i in 0..n { defs.insert(format!("d{i}"), json!({"allOf":[{"$ref":format!("#/$defs/d{}",i+1)},{"$ref":format!("#/$defs/d{}",i+1)}]})); }
    defs.insert(format!("d{n}"), json!({"type":"string"}));
    let bomb=json!({"$ref":"#/$defs/d0","$defs":defs});
    let t=Instant::now(); let s=build(&bomb); println!("compile {n} {:?}", t.elapsed());
    let t=Instant::now(); s.is_valid(&json!("x")); println!("valid {n} {:?}", t.elapsed());
    let t=Instant::now(); let c=s.iter_errors(&json!(1)).take(50).count(); println!("errors {n} {c} {:?}", t.elapsed());
    }
    for k in [6,12,30] {
    // complete graph
    let mut defs=Map::new();
    for i in 0..k { let l:Vec<Value>=(0..k).map(|j| json!({"$ref":format!("#/$defs/d{j}")})).collect(); defs.insert(format!("d{i}"), json!({"type":"object","properties":{"a":{"anyOf":l}}})); }
    let g=json!({"$ref":"#/$defs/d0","$defs":defs});
    let t=Instant::now(); let s=build(&g); println!("complete {k} {:?}",  t.elapsed());
    for d in 1..8 { let mut v=json!(1); for _ in 0..d { v=json!({"a":v}); } let t=Instant::now(); let ok=s.is_valid(&v); print!("complete valid {d} {ok} {:?}", t.elapsed()); 
      if d<4 {let t=Instant::now(); let ok=s.iter_errors(&v).count(); println!("  errors {d} {ok} {:?}", t.elapsed());} else {println!()} }
    }
    // rec
    let rec=json!({"properties":{"a":{"$ref":"#"}},"allOf":[{"$ref":"#/$defs/x"},{"$ref":"#/$defs/x"}],"$defs":{"x":{"properties":{"a":{"$ref":"#"}}}}, "type":"object"});
    let s=build(&rec);
    for d in 1..9 { let mut v=json!(1); for _ in 0..d { v=json!({"a":v}); } let t=Instant::now(); s.is_valid(&v); print!("rec valid {d} {:?}", t.elapsed());  let t=Instant::now(); let ok=s.iter_errors(&v).count(); println!("  errors {d} {ok} {:?}", t.elapsed()); }
    // union of 12 kinds
    let kinds:Vec<Value>=(0..12).map(|i| json!({"$ref":format!("#/$defs/k{i}")})).collect();
    let mut defs=Map::new();
    for i in 0..12 { defs.insert(format!("k{i}"), json!({"type":"object","properties":{"left":{"$ref":"#/$defs/e"},"right":{"$ref":"#/$defs/e"},"kind":{"const":format!("k{i}")}},"required":["kind"],"additionalProperties":false})); }
    defs.insert("e".into(), json!({"anyOf":kinds}));
    let u=json!({"$ref":"#/$defs/e","$defs":defs});
    let s=build(&u);
    for d in 1..6 { let mut v=json!({"kind":"k99"}); for _ in 0..d { v=json!({"left":v,"kind":"k11"}); } let t=Instant::now(); let ok=s.is_valid(&v); print!("union valid {d} {ok} {:?}", t.elapsed()); let t=Instant::now(); let ok=s.iter_errors(&v).count(); println!("  errors {d} {ok} {:?}", t.elapsed());}
}
